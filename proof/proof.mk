# proof.mk - what is proven; included by the top Makefile, all paths are from the top of the tree.
#
#   make proof              the specifications of proof/tla by tla-checker: some two minutes
#   make proof TLA2TOOLS=/path/to/tla2tools.jar     by TLC, larger models, too
#
# docs/proof.md says what is claimed, and what each of these shows. tla-checker is a package of npm,
# unpacked below build; nothing is installed.

TLA_CHECKER = tla-checker@0.9.0
TLA_CHECKER_FOLDER = $(BUILD)/proof/node_modules/tla-checker

.PHONY: proof

proof: $(if $(TLA2TOOLS),,$(TLA_CHECKER_FOLDER))
	@TLA2TOOLS="$(TLA2TOOLS)" proof/tla/run

$(TLA_CHECKER_FOLDER):
	@command -v npm >/dev/null || { echo "make proof needs node and npm (Debian: nodejs npm)," \
		"or TLC: TLA2TOOLS=/path/to/tla2tools.jar" >&2; exit 1; }
	npm install --silent --no-save --prefix $(BUILD)/proof $(TLA_CHECKER)
