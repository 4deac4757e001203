// gozk_crowd.go - the process of a crowd that has go-zookeeper; bench/harness/crowd.lua says which
// commands it obeys. Its Lock waits for ever: there is no try, no timeout, no re-entry.
//
//   gozk_crowd PROXY SERVER

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/go-zookeeper/zk"
)

const timeout = 30 * time.Second // of the sessions

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

type crowd struct {
	proxy, server string
	sessions      []*zk.Conn // number 0 is the first holder's
	cyclers       map[string]*zk.Conn
	kept          []*zk.Lock
	path          string
	laps          int
	held          *zk.Lock
	tasks         sync.WaitGroup
	mutex         sync.Mutex
	last          float64 // when the latest task ended
	served        int
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

// Starts a task of count cycles.
func (c *crowd) start(lock *zk.Lock, count int) {
	c.tasks.Add(1)
	go func() {
		err := cycle(lock, count)
		c.mutex.Lock()
		c.last = now()
		if err != nil {
			c.problem = err
		} else {
			c.served++
		}
		c.mutex.Unlock()
		c.tasks.Done()
	}()
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

// The sessions are used in turn, except number 0.
func (c *crowd) session(i int) *zk.Conn {
	return c.sessions[i%(len(c.sessions)-1)+1]
}

func (c *crowd) join(first, count int) {
	for i := 0; i < count; i++ {
		c.start(newLock(c.session(first-1+i), c.path), c.laps)
	}
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
		c.tasks.Wait()
	}
	return fmt.Sprintf("%.6f %.6f", now()-begin, processorTime()-cpu), c.problem
}

func (c *crowd) keep(path string, count int) error {
	for i := 0; i < count; i++ {
		lock := newLock(c.session(i), fmt.Sprintf("%s/%d", path, i))
		c.kept = append(c.kept, lock)
		if err := lock.Lock(); err != nil {
			return err
		}
	}
	return nil
}

func (c *crowd) obey(words []string) (string, error) {
	number := func(i int) int {
		value, _ := strconv.Atoi(words[i])
		return value
	}
	switch words[0] {
	case "open":
		return "", c.open(number(1))
	case "line":
		c.path, c.laps, c.served = words[2], number(3), 0
		return "", nil
	case "hold":
		c.held = newLock(c.sessions[0], c.path)
		return "", c.held.Lock()
	case "join":
		c.join(number(1), number(2))
		return "", nil
	case "release":
		return "", c.held.Unlock()
	case "serve":
		c.tasks.Wait()
		return fmt.Sprintf("%.6f %d 0 0", c.last, c.served), c.problem
	case "cycles":
		return c.cycles(words[1], words[2], words[3], number(4), number(5))
	case "keep":
		return "", c.keep(words[1], number(2))
	case "collect":
		debug.FreeOSMemory()
		return "0", nil
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
	fmt.Println("ready", os.Getpid(), version)
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
