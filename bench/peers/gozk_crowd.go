// gozk_crowd.go - the process of a crowd that has go-zookeeper; bench/contended/crowd.lua says
// which commands it obeys. Its Lock waits for ever: there is no try, no timeout, no re-entry.
//
//   gozk_crowd PROXY SERVER

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/go-zookeeper/zk"
)

const (
	timeout  = 30 * time.Second // of the sessions
	patience = 120 * time.Second
)

var version string // of go-zookeeper, set by the linker

func connect(hosts string) (*zk.Conn, error) {
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

func number(pattern, text string) (int, error) {
	match := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if match == nil {
		return 0, errors.New("no " + pattern)
	}
	return strconv.Atoi(match[1])
}

type crowd struct {
	proxy, server string
	sessions      []*zk.Conn // number 0 is the first holder's
	cyclers       map[string]*zk.Conn
	kept          []*zk.Lock
	path          string
	laps          int
	held          *zk.Lock
	waiters       sync.WaitGroup
	mutex         sync.Mutex
	last          float64 // when the latest waiter was served
	problem       error
}

func newLock(conn *zk.Conn, path string) *zk.Lock {
	return zk.NewLock(conn, path, zk.WorldACL(zk.PermAll))
}

func cycle(lock *zk.Lock, count int) error {
	for i := 0; i < count; i++ {
		if err := lock.Lock(); err != nil {
			return err
		}
		if err := lock.Unlock(); err != nil {
			return err
		}
	}
	return nil
}

// A waiter: so many cycles.
func (c *crowd) start(lock *zk.Lock, count int) {
	c.waiters.Add(1)
	go func() {
		err := cycle(lock, count)
		c.mutex.Lock()
		c.last = now()
		if err != nil {
			c.problem = err
		}
		c.mutex.Unlock()
		c.waiters.Done()
	}()
}

// How many ephemeral nodes the server has. A waiter that has made one has its place.
func (c *crowd) nodes() (int, error) {
	conn, err := net.Dial("tcp", c.server)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	fmt.Fprint(conn, "mntr")
	answer, _ := io.ReadAll(conn)
	return number(`zk_ephemerals_count\t(\d+)`, string(answer))
}

func (c *crowd) open(count int) error {
	for len(c.sessions) <= count {
		conn, err := connect(c.proxy)
		if err != nil {
			return err
		}
		c.sessions = append(c.sessions, conn)
	}
	return nil
}

func (c *crowd) join(session int) error {
	before, err := c.nodes()
	c.start(newLock(c.sessions[session], c.path), c.laps)
	deadline := time.Now().Add(patience)
	for after := before; err == nil && after <= before; after, err = c.nodes() {
		if time.Now().After(deadline) {
			return errors.New("it made no node")
		}
		time.Sleep(2 * time.Millisecond)
	}
	return err
}

func (c *crowd) cycles(where, kind, path string, count, tasks int) (string, error) {
	if kind != "free" {
		return "", errors.New("go-zookeeper has only a mutex, without try and re-entry")
	}
	if c.cyclers[where] == nil {
		hosts := c.server
		if where == "proxy" {
			hosts = c.proxy
		}
		conn, err := connect(hosts)
		if err != nil {
			return "", err
		}
		c.cyclers[where] = conn
	}
	begin, cpu := now(), processorTime()
	if tasks == 1 {
		c.problem = cycle(newLock(c.cyclers[where], path), count)
	} else {
		for i := 0; i < tasks; i++ {
			c.start(newLock(c.cyclers[where], fmt.Sprintf("%s/%d", path, i)), count)
		}
		c.waiters.Wait()
	}
	return fmt.Sprintf("%.6f %.6f", now()-begin, processorTime()-cpu), c.problem
}

func (c *crowd) keep(path string, count int) error {
	for i := 0; i < count; i++ {
		conn := c.sessions[i%(len(c.sessions)-1)+1]
		lock := newLock(conn, fmt.Sprintf("%s/%d", path, i))
		c.kept = append(c.kept, lock)
		if err := lock.Lock(); err != nil {
			return err
		}
	}
	return nil
}

func memory() (string, error) {
	debug.FreeOSMemory()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "", err
	}
	kilobytes, err := number(`VmRSS:\s+(\d+) kB`, string(status))
	return fmt.Sprint(1024 * kilobytes), err
}

func (c *crowd) obey(words []string) (string, error) {
	argument := func(i int) int {
		value, _ := strconv.Atoi(words[i])
		return value
	}
	switch words[0] {
	case "open":
		return "", c.open(argument(1))
	case "line":
		c.path, c.laps = words[2], argument(3)
		return "", nil
	case "hold":
		c.held = newLock(c.sessions[0], c.path)
		return "", c.held.Lock()
	case "join":
		return "", c.join(argument(1))
	case "release":
		return "", c.held.Unlock()
	case "serve":
		c.waiters.Wait()
		return fmt.Sprintf("%.6f", c.last), c.problem
	case "cycles":
		return c.cycles(words[1], words[2], words[3], argument(4), argument(5))
	case "keep":
		return "", c.keep(words[1], argument(2))
	case "memory":
		return memory()
	}
	return "", errors.New("unknown command")
}

func main() {
	log.SetOutput(io.Discard)
	c := &crowd{proxy: os.Args[1], server: os.Args[2], cyclers: map[string]*zk.Conn{}}
	if err := c.open(0); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println("ready", version)
	for input := bufio.NewScanner(os.Stdin); input.Scan() && input.Text() != "quit"; {
		answer, err := c.obey(strings.Fields(input.Text()))
		if err != nil {
			fmt.Println("error:", err)
		} else {
			fmt.Println("ok", answer)
		}
	}
	for _, conn := range c.sessions {
		conn.Close()
	}
	for _, conn := range c.cyclers {
		conn.Close()
	}
	fmt.Println("ok")
}
