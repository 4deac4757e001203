# peers.mk - the clients that `make bench` measures beside zklock:
# packages of Debian's sid, which rig/unpack unpacks below build/debian. Java, Python and Go's
# compiler are the machine's. A client that is not there is told as missing.

PEERS = $(DEBIAN)/peers
GO_CLIENT = golang-github-go-zookeeper-zk-dev

build-peers:
	-@$(MAKE) --no-print-directory -s -k $(BUILD)/bench/CrowdCurator.class $(BUILD)/bench/gozk_crowd

$(PEERS)/packages:
	rig/unpack sid $(@D) libcurator-client-java libcurator-framework-java libcurator-recipes-java \
		libzookeeper-java libguava-java libslf4j-java python3-kazoo $(GO_CLIENT)

$(BUILD)/bench/CrowdCurator.class: bench/crowds/CrowdCurator.java spec/neighbours/CuratorVersion.java \
		$(PEERS)/packages
	mkdir -p $(@D)
	javac -implicit:none -Xlint:all,-path -Werror -d $(@D) \
		-cp '$(PEERS)/usr/share/java/*' $(filter %.java,$^)

$(BUILD)/bench/gozk_crowd: bench/crowds/gozk_crowd.go $(PEERS)/packages
	mkdir -p $(@D)
	GO111MODULE=off GOPATH=$(PEERS)/usr/share/gocode GOCACHE=$(abspath $(BUILD))/go \
		go build -ldflags "-X main.version=$(call version,peers,$(GO_CLIENT))" -o $@ $<
