// gozk.go - go-zookeeper as a neighbour; see neighbour.lua for the commands. Its Lock waits for
// ever, without a try or a timeout.

package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/samuel/go-zookeeper/zk"
)

const sessionTimeout = 20 * time.Second

func connect(hosts string) (*zk.Conn, error) {
	conn, events, err := zk.Connect(strings.Split(hosts, ","), sessionTimeout,
		zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	deadline := time.After(15 * time.Second)
	for {
		select {
		case event := <-events:
			if event.State == zk.StateHasSession {
				return conn, nil
			}
		case <-deadline:
			return nil, errors.New("no connection to " + hosts)
		}
	}
}

func session(conn *zk.Conn) string {
	return fmt.Sprintf("%x", uint64(conn.SessionID()))
}

// The token of a lock that is held. The name of its node is private to the library.
func token(conn *zk.Conn, lock *zk.Lock) (int64, error) {
	node := reflect.ValueOf(lock).Elem().FieldByName("lockPath").String()
	_, stat, err := conn.Exists(node)
	if err != nil {
		return 0, err
	}
	return stat.Czxid, nil
}

// --- one step at a time ------------------------------------------------------------------

// A session, with one lock at a time.
type hand struct {
	conn  *zk.Conn
	lock  *zk.Lock
	mutex sync.Mutex
	state string
}

func (h *hand) become(state string) {
	h.mutex.Lock()
	h.state = state
	h.mutex.Unlock()
}

func (h *hand) acquire() {
	err := h.lock.Lock()
	var number int64
	if err == nil {
		number, err = token(h.conn, h.lock)
	}
	if err != nil {
		h.become("failed " + err.Error())
	} else {
		h.become(fmt.Sprint("held ", number))
	}
}

func (h *hand) take(kind, path, limit string) error {
	if kind != "mutex" || limit != "-" {
		return errors.New("go-zookeeper has only a mutex, without timeout")
	}
	h.lock = zk.NewLock(h.conn, path, zk.WorldACL(zk.PermAll))
	h.become("waiting")
	go h.acquire()
	return nil
}

func (h *hand) command(words []string) (string, error) {
	switch words[0] {
	case "take":
		return "", h.take(words[2], words[3], words[4])
	case "state":
		h.mutex.Lock()
		defer h.mutex.Unlock()
		return h.state, nil
	case "release":
		err := h.lock.Unlock()
		h.become("free")
		return "", err
	case "session":
		return session(h.conn), nil
	case "drop":
		h.conn.Close()
		return "", nil
	}
	return "", errors.New("unknown command")
}

var version string // of go-zookeeper, set by the linker

func commands(hosts string) {
	hands := map[string]*hand{}
	fmt.Println("ready", version)
	for input := bufio.NewScanner(os.Stdin); input.Scan() && input.Text() != "quit"; {
		words := strings.Split(input.Text(), " ")
		var answer string
		var err error
		if hands[words[1]] == nil {
			hands[words[1]] = &hand{state: "free"}
			hands[words[1]].conn, err = connect(hosts)
		}
		if err == nil {
			answer, err = hands[words[1]].command(words)
		}
		if err != nil {
			fmt.Println("error:", err)
		} else {
			fmt.Println("ok", answer)
		}
		if words[0] == "drop" {
			delete(hands, words[1])
		}
	}
	for _, h := range hands {
		h.conn.Close()
	}
	fmt.Println("ok")
}

func main() {
	commands(os.Args[1])
}
