# coverage.mk - measures by clang's MC/DC which conditions of src/core and src/session are covered
# by C tests, schedules of the simulator and specs in worlds, and compares them with
# spec/coverage/left.lua. Asserts are compiled out, as in an installed zklock. Needs clang 19, with
# its llvm-profdata and llvm-cov.

COVERAGE = $(BUILD)/coverage
COVERAGE_FLAGS = -O1 -DNDEBUG -fprofile-instr-generate -fcoverage-mapping -fcoverage-mcdc
COVERAGE_SEEDS = 210000

FLAGS_coverage = $(FLAGS_5.4) $(COVERAGE_FLAGS)
$(eval $(call modules,$(COVERAGE),$$(FLAGS_coverage)))

$(COVERAGE)/sim: $(SIM_FILES)
	$(call simulator,$(COVERAGE_FLAGS))

# $(call profile,<name>): the file for a program's coverage
profile = LLVM_PROFILE_FILE=$(COVERAGE)/profiles/$(1).profraw

coverage-core coverage-session coverage-sim coverage-worlds: CC = clang-19

coverage: setup-tests coverage-tools
	@rm -rf $(COVERAGE)/profiles
	@$(MAKE) -s coverage-core coverage-session coverage-sim coverage-worlds
	@llvm-profdata-19 merge -o $(COVERAGE)/profdata $(COVERAGE)/profiles/*.profraw
	@llvm-cov-19 export -skip-expansions -instr-profile=$(COVERAGE)/profdata \
		$(COVERAGE)/zklock/core.so >$(COVERAGE)/export.json
	@$(LUA) spec/coverage/judge.lua $(COVERAGE)/export.json

coverage-tools:
	@rig/packages coverage

coverage-core: CORE_RUNNER = $(call profile,core-%p)
coverage-core:
	$(call core-programs,$(COVERAGE)/core,$(COVERAGE_FLAGS))

coverage-session: CORE_RUNNER = $(call profile,session-%p)
coverage-session:
	$(call session-programs,$(COVERAGE)/session,$(COVERAGE_FLAGS))

coverage-sim: $(COVERAGE)/sim
	$(call profile,seeds) $< transitions 1 $(COVERAGE_SEEDS) >$(COVERAGE)/transitions
	$(call profile,small) $< small calm

coverage-worlds: WORLDS_BY_DEFAULT = 1
coverage-worlds: $(COVERAGE)/zklock/core.so
	$(call in-worlds,coverage,lua5.4,$(call profile,worlds-%m))
