# peers.mk - the clients that `make bench` measures beside zklock: packages of Debian's sid, which
# rig/unpack unpacks below build/debian. Java, Python and Go's compiler are the machine's. `make
# bench` says which client is missing.

PEERS = $(DEBIAN)/peers
GO_CLIENT = golang-github-go-zookeeper-zk-dev

build-peers:
	-@$(MAKE) -s -k $(BUILD)/bench/CrowdCurator.class $(BUILD)/bench/gozk_crowd

unpack-peers = sid $(@D) libcurator-client-java libcurator-framework-java \
	libcurator-recipes-java libzookeeper-java libguava-java libslf4j-java python3-kazoo $(GO_CLIENT)

# $(call java,<packages>), $(call go,<packages>,<version of go-zookeeper>): "" for the machine's
java = mkdir -p $(@D) && javac -implicit:none -Xlint:all,-path -Werror -d $(@D) \
	-cp '$(1)/usr/share/java/*' $(filter %.java,$^)
go = GO111MODULE=off GOPATH=$(1)/usr/share/gocode GOCACHE=$(abspath $(BUILD))/go \
	go build -ldflags "-X main.version=$(2)" -o $@

$(BUILD)/bench/CrowdCurator.class: bench/crowds/CrowdCurator.java \
		spec/neighbours/CuratorVersion.java $(PEERS)/packages
	$(call java,$(PEERS))

$(BUILD)/bench/gozk_crowd: bench/crowds/gozk_crowd.go $(PEERS)/packages
	$(call go,$(PEERS),$(call version,peers,$(GO_CLIENT))) $<
