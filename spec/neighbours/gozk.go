// gozk.go - go-zookeeper as a neighbour; see neighbour.lua for the commands. Its Lock waits for
// ever, without a try or a timeout.

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"reflect"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/samuel/go-zookeeper/zk"
)

func connect(hosts string, timeout time.Duration) (*zk.Conn, error) {
	conn, events, err := zk.Connect(strings.Split(hosts, ","), timeout, zk.WithLogInfo(false))
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
	kept  []*zk.Lock
	mutex sync.Mutex
	state string
}

func (h *hand) newLock(path string) *zk.Lock {
	return zk.NewLock(h.conn, path, zk.WorldACL(zk.PermAll))
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
	h.lock = h.newLock(path)
	h.become("waiting")
	go h.acquire()
	return nil
}

func (h *hand) keep(path string, count int) error {
	for i := 0; i < count; i++ {
		lock := h.newLock(fmt.Sprintf("%s/%d", path, i))
		h.kept = append(h.kept, lock)
		if err := lock.Lock(); err != nil {
			return err
		}
	}
	return nil
}

func (h *hand) obey(words []string) (string, error) {
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
	case "keep":
		return "", h.keep(words[2], number(words[3]))
	case "session":
		return fmt.Sprintf("%x", uint64(h.conn.SessionID())), nil
	case "drop":
		h.conn.Close()
		return "", nil
	}
	return "", errors.New("unknown command")
}

// --- tasks -------------------------------------------------------------------------------

const clockBoottime = 7

func now() float64 {
	var spec syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&spec)), 0)
	return float64(spec.Nano()) / 1e9
}

func processorTime() float64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

// The figures of a task that has ended.
type ended struct {
	at   float64
	laps int
	err  error
}

func cycle(lock *zk.Lock, laps int) error {
	for i := 0; i < laps; i++ {
		if err := lock.Lock(); err != nil {
			return err
		}
		if err := lock.Unlock(); err != nil {
			return err
		}
	}
	return nil
}

// The tasks of all hands.
type tasks struct {
	count      int
	results    chan ended
	begin, cpu float64 // at the start of the first task
}

func (t *tasks) start(h *hand, path string, laps, count int) {
	if t.count == 0 {
		t.begin, t.cpu = now(), processorTime()
	}
	t.count += count
	for i := 0; i < count; i++ {
		lock := h.newLock(strings.Replace(path, "#", strconv.Itoa(i), 1))
		go func() { t.end(laps, cycle(lock, laps)) }()
	}
}

func (t *tasks) end(laps int, err error) {
	t.results <- ended{now(), laps, err}
}

func (t *tasks) finish() string {
	last, grants, problem := t.begin, 0, ""
	for ; t.count > 0; t.count-- {
		result := <-t.results
		last = math.Max(last, result.at)
		if result.err != nil {
			problem = result.err.Error()
		} else {
			grants += result.laps
		}
	}
	return fmt.Sprintf("%.6f %.6f %.6f %d 0 %s", last-t.begin, last, processorTime()-t.cpu,
		grants, problem)
}

// --- commands ----------------------------------------------------------------------------

type program struct {
	hands map[string]*hand
	tasks tasks
}

func number(word string) int {
	value, _ := strconv.Atoi(word)
	return value
}

func (p *program) connect(name, hosts string, seconds int) error {
	conn, err := connect(hosts, time.Duration(seconds)*time.Second)
	p.hands[name] = &hand{conn: conn, state: "free"}
	return err
}

func (p *program) obey(words []string) (string, error) {
	switch words[0] {
	case "connect":
		return "", p.connect(words[1], words[2], number(words[3]))
	case "start":
		p.tasks.start(p.hands[words[1]], words[3], number(words[4]), number(words[5]))
		return "", nil
	case "finish":
		return p.tasks.finish(), nil
	case "collect":
		debug.FreeOSMemory()
		return "0", nil
	}
	answer, err := p.hands[words[1]].obey(words)
	if words[0] == "drop" {
		delete(p.hands, words[1])
	}
	return answer, err
}

var version string // of go-zookeeper, set by the linker

func main() {
	log.SetOutput(io.Discard)
	p := program{hands: map[string]*hand{}, tasks: tasks{results: make(chan ended)}}
	fmt.Println("ready", os.Getpid(), version)
	for input := bufio.NewScanner(os.Stdin); input.Scan() && input.Text() != "quit"; {
		answer, err := p.obey(strings.Split(input.Text(), " "))
		if err != nil {
			fmt.Println("error:", err)
		} else {
			fmt.Println("ok", answer)
		}
	}
	for _, h := range p.hands {
		h.conn.Close()
	}
	fmt.Println("ok")
}
