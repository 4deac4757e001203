# proof.mk - runs the proofs; docs/proof.md has the claims and the commands. tla-checker is a
# package of npm, CBMC of Debian 13; both are unpacked below build. npm is installed if it is
# missing. With TLA2TOOLS=/path/to/tla2tools.jar TLC checks the specifications, with larger models,
# too. CBMC=/path/to/cbmc has to be 6.6 or later.

TLA_CHECKER = tla-checker@0.9.0
TLA_CHECKER_FOLDER = $(BUILD)/proof/node_modules/tla-checker
TLA_CONFIGURATIONS = $(BUILD)/proof/configurations

CBMC_FOLDER = $(BUILD)/proof/cbmc

TRACES ?= 100
TRACES_FOLDER = $(BUILD)/proof/traces

HISTORY ?= $(TORTURE)/history
HISTORY_FOLDER = $(BUILD)/proof/history

proof: proof-tla test-traces proof-cbmc

proof-tla: $(TLA_CONFIGURATIONS) $(if $(TLA2TOOLS),,$(TLA_CHECKER_FOLDER))
	@TLA2TOOLS="$(TLA2TOOLS)" proof/tla/run

$(TLA_CHECKER_FOLDER):
	@command -v npm >/dev/null || rig/packages proof
	npm install --loglevel=error --no-audit --no-fund --no-save --prefix $(BUILD)/proof $(TLA_CHECKER)

$(TLA_CONFIGURATIONS): proof/tla/configurations.lua
	@rm -rf $@ && mkdir -p $@
	@$(LUA) $< $@

proof-traces: $(BUILD)/sim/sim $(TLA_CONFIGURATIONS) $(TLA_CHECKER_FOLDER)
	@rm -rf $(TRACES_FOLDER) && mkdir -p $(TRACES_FOLDER)
	@$(BUILD)/sim/sim trace $(FIRST) $(TRACES) >$(TRACES_FOLDER).lines
	@$(LUA) proof/tla/trace.lua $(TRACES_FOLDER) <$(TRACES_FOLDER).lines
	@node proof/tla/trace.mjs Trace $(TRACES_FOLDER)

proof-traces-refused: $(BUILD)/sim/sim $(TLA_CONFIGURATIONS) $(TLA_CHECKER_FOLDER)
	@rm -rf $(TRACES_FOLDER).altered && mkdir -p $(TRACES_FOLDER).altered
	@$(BUILD)/sim/sim trace 4 1 | $(LUA) proof/tla/trace.lua $(TRACES_FOLDER).altered altered
	@node proof/tla/trace.mjs Trace $(TRACES_FOLDER).altered
	@BUILD=$(BUILD)/proof $(LUA) proof/tla/planted.lua

test-traces: proof-traces proof-traces-refused

proof-history: $(BUILD)/$(ABI)/zklock/core.so $(TLA_CONFIGURATIONS) $(TLA_CHECKER_FOLDER)
	@rm -rf $(HISTORY_FOLDER) && mkdir -p $(HISTORY_FOLDER)
	@$(call with,$(ABI)) $(LUA) proof/tla/history.lua $(HISTORY) $(HISTORY_FOLDER)
	@node proof/tla/trace.mjs History $(HISTORY_FOLDER)

# Without CBMC it only says so, and the rest of `make proof` runs.
proof-cbmc: $(if $(CBMC),,$(CBMC_FOLDER))
	@if [ -n "$(CBMC)" ] || [ -x $(CBMC_FOLDER)/run/cbmc ]; then \
		CBMC="$(CBMC)" LUA="$(LUA)" proof/cbmc/run; fi

$(CBMC_FOLDER):
	@rig/unpack -d trixie $@ cbmc || echo "make proof-cbmc runs nothing: it needs CBMC 6.6" \
		"(Debian 13: cbmc; https://www.cprover.org/cbmc): CBMC=/path/to/cbmc" >&2
