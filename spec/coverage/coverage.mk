# coverage.mk - measures by clang's MC/DC which conditions of src/core and src/session are covered
# by C tests, schedules of the simulator and specs in worlds, and compares them with
# spec/coverage/left.lua. Asserts are compiled out, as in an installed zklock. Needs clang 19, with
# its llvm-profdata and llvm-cov.

COVERAGE = $(BUILD)/coverage
COVERAGE_FLAGS = -O1 -DNDEBUG -fprofile-instr-generate -fcoverage-mapping -fcoverage-mcdc
COVERAGE_SEEDS = 210000

FLAGS_coverage = $(FLAGS_5.4) $(COVERAGE_FLAGS)
$(eval $(call modules,$(COVERAGE),$$(FLAGS_coverage)))

$(eval $(call programs,$(COVERAGE)/tests,$(COVERAGE_FLAGS)))
$(eval $(call programs,$(COVERAGE)/sim,$(COVERAGE_FLAGS) $(TABLES)))

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

coverage-core: $(addprefix $(COVERAGE)/tests/,$(CORE_TESTS))
coverage-session: $(addprefix $(COVERAGE)/tests/,$(SESSION_TESTS))
coverage-core coverage-session:
	$(call profile,$@-%p) spec/core/run $^

coverage-sim: $(COVERAGE)/sim/sim
	$(call profile,seeds) $< transitions 1 $(COVERAGE_SEEDS) >$(COVERAGE)/transitions
	$(call profile,small) $< small calm

coverage-worlds: WORLDS_BY_DEFAULT = 1
coverage-worlds: $(COVERAGE)/zklock/core.so
	$(call in-worlds,coverage,lua5.4,$(call profile,worlds-%m))
