// gozk.go - go-zookeeper as a neighbour; see neighbour.lua for the commands and for what the
// loop does. Its Lock waits for ever: there is no try and no timeout.

package main

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

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

// One session, with one lock at a time.
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

func commands(hosts string) {
	hands := map[string]*hand{}
	fmt.Println("ready")
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

// --- the loop ----------------------------------------------------------------------------

const clockBoottime = 7

func now() float64 {
	var spec syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&spec)), 0)
	return float64(spec.Nano()) / 1e9
}

// Without its last event: the checker misses it.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// What this process did and saw; see spec/torture/history.lua.
type history struct {
	file    *os.File
	process string
}

var escape = strings.NewReplacer("%", "%25", "\t", "%09", "\n", "%0A")

func (h *history) record(at float64, claim, event string, fields ...interface{}) {
	line := fmt.Sprintf("%.6f\t%s\t%s\t%s", at, h.process, claim, event)
	for i := 0; i < len(fields); i += 2 {
		value := fields[i+1]
		if moment, ok := value.(float64); ok {
			value = strconv.FormatFloat(moment, 'f', 6, 64)
		}
		line += fmt.Sprintf("\t%s=%s", fields[i], escape.Replace(fmt.Sprint(value)))
	}
	_, err := h.file.WriteString(line + "\n")
	check(err)
}

// The protected counter; see counter.lua. Gives the words of the last line.
func readCounter(path string) []string {
	file, err := os.Open(path)
	check(err)
	defer file.Close()
	stat, err := file.Stat()
	check(err)
	tail := make([]byte, 512)
	start := stat.Size() - int64(len(tail))
	if start < 0 {
		start = 0
	}
	count, _ := file.ReadAt(tail, start)
	lines := strings.Split(strings.TrimRight(string(tail[:count]), "\n"), "\n")
	return strings.Split(lines[len(lines)-1], " ")
}

func writeCounter(path string, read []string, element string, token int64) {
	count, err := strconv.Atoi(read[0])
	check(err)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	check(err)
	_, err = file.WriteString(fmt.Sprintf("%d %s %s %d\n", count+1, element, read[1], token))
	check(err)
	check(file.Close())
}

type loop struct {
	conn    *zk.Conn
	folder  string
	paths   []string
	history history
	claims  int32
}

func pause(longest time.Duration) {
	time.Sleep(time.Duration(rand.Int63n(int64(longest))))
}

func (l *loop) cycle() {
	claim := fmt.Sprintf("%s-%d", l.history.process, atomic.AddInt32(&l.claims, 1))
	path := l.paths[rand.Intn(len(l.paths))]
	lock := zk.NewLock(l.conn, path, zk.WorldACL(zk.PermAll))
	begun := now()
	l.history.record(begun, claim, "invoked", "path", path, "kind", "mutex", "way", "acquire")
	check(lock.Lock())
	at := now()
	number, err := token(l.conn, lock)
	check(err)
	l.history.record(at, claim, "granted", "token", number, "state", "held", "begun", begun)

	file := l.folder + "/store/" + strings.ReplaceAll(path, "/", "_")
	read := readCounter(file)
	pause(4 * time.Millisecond)
	writeCounter(file, read, claim, number)
	l.history.record(now(), claim, "wrote", "element", claim, "read", read[1], "token", number,
		"accepted", "true")

	begun = now()
	check(lock.Unlock())
	l.history.record(now(), claim, "released", "result", "ok", "begun", begun)
}

func (l *loop) calm() bool {
	_, err := os.Stat(l.folder + "/calm")
	return err == nil
}

func (l *loop) work(workers int) {
	var working sync.WaitGroup
	for i := 0; i < workers; i++ {
		working.Add(1)
		go func() {
			for !l.calm() {
				l.cycle()
				pause(10 * time.Millisecond)
			}
			working.Done()
		}()
	}
	working.Wait()
}

// PROCESS HOSTS FOLDER SEED WORKERS MUTEXES RWLOCKS
func run(args []string) {
	process, hosts, folder, paths := args[0], args[1], args[2], strings.Split(args[5], ",")
	seed, err := strconv.ParseInt(args[3], 10, 64)
	check(err)
	workers, err := strconv.Atoi(args[4])
	check(err)
	rand.Seed(seed)
	file, err := os.OpenFile(folder+"/history/"+process,
		os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0666)
	check(err)
	conn, err := connect(hosts)
	check(err)
	l := loop{conn: conn, folder: folder, paths: paths, history: history{file, process}}
	l.history.record(now(), "-", "connected", "session", session(conn),
		"timeout", int(sessionTimeout.Seconds()))
	l.work(workers)
	l.history.record(now(), "-", "closing", "session", session(conn))
	conn.Close()
	l.history.record(now(), "-", "ended")
}

func main() {
	if os.Args[1] == "loop" {
		run(os.Args[2:])
	} else {
		commands(os.Args[1])
	}
}
