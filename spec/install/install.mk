# install.mk - the commands of README.md, docs/install.md and docs/start.md, each section in a root
# of its own. It takes eight minutes of a processor, nine in all, and more beside other tests.
#
#   make test-install SECTION="docs/install.md#Without LuaRocks"     one section
#   make test-install JOBS=2                                         two sections at a time
#   make test-install VERBOSE=1                                      with all that they print

root-tools:
	@rig/packages deb-root

test-install: setup root-tools
	@VERBOSE=$(VERBOSE) rig/zookeeper run -- spec/install/run $(if $(SECTION),"$(SECTION)")
