// Curator.java - Apache Curator as a neighbour; see neighbour.lua for the commands and for
// what the loop does.

import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.retry.RetryOneTime;

public final class Curator {
    static final int SESSION_TIMEOUT = 20_000;

    static CuratorFramework connect(String hosts) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(
                hosts, SESSION_TIMEOUT, 15_000, new RetryOneTime(1000));
        client.start();
        if (!client.blockUntilConnected(15, TimeUnit.SECONDS)) {
            throw new IOException("no connection to " + hosts);
        }
        return client;
    }

    static String session(CuratorFramework client) throws Exception {
        return Long.toHexString(client.getZookeeperClient().getZooKeeper().getSessionId());
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("loop")) {
            new Loop(args).run();
        } else {
            new Commands(args[0]).run();
        }
        System.exit(0);
    }
}

// --- locks, whose nodes are known --------------------------------------------------------

/** A lock of any kind, with the data of its node. Only the thread that acquired it may release. */
final class Lock {
    private static final class Mutex extends InterProcessMutex {
        private final byte[] data;

        Mutex(CuratorFramework client, String path, byte[] data) {
            super(client, path);
            this.data = data;
        }

        @Override
        protected byte[] getLockNodeBytes() {
            return data;
        }

        String node() {
            return getLockPath();
        }
    }

    // As InterProcessReadWriteLock makes them, which does not tell their nodes.
    private static final class Write extends InterProcessReadWriteLock.WriteLock {
        Write(CuratorFramework client, String path, byte[] data) {
            super(client, path, data);
        }

        String node() {
            return getLockPath();
        }
    }

    private static final class Read extends InterProcessReadWriteLock.ReadLock {
        Read(CuratorFramework client, String path, byte[] data, Write write) {
            super(client, path, data, write);
        }

        String node() {
            return getLockPath();
        }
    }

    private interface Node {
        String path();
    }

    private final CuratorFramework client;
    private InterProcessMutex mutex;
    private Node node;
    private Read read; // of a writer

    Lock(CuratorFramework client, String kind, String path, String text) {
        this.client = client;
        byte[] data = text.getBytes(StandardCharsets.UTF_8);
        if (kind.equals("mutex")) {
            Mutex lock = new Mutex(client, path, data);
            mutex = lock;
            node = lock::node;
            return;
        }
        Write write = new Write(client, path, data);
        read = new Read(client, path, data, write);
        mutex = kind.equals("read") ? read : write;
        node = kind.equals("read") ? read::node : write::node;
    }

    /** False if it was not had within so many seconds; null waits for ever. */
    boolean acquire(Double limit) throws Exception {
        if (limit != null) {
            return mutex.acquire((long) (limit * 1000), TimeUnit.MILLISECONDS);
        }
        mutex.acquire();
        return true;
    }

    void release() throws Exception {
        mutex.release();
    }

    /** Curator's way for a writer to become a reader. */
    void downgrade() throws Exception {
        read.acquire();
        mutex.release();
        mutex = read;
        node = read::node;
    }

    long token() throws Exception {
        return client.checkExists().forPath(node.path()).getCzxid();
    }
}

// --- one step at a time ------------------------------------------------------------------

/** One session and one thread, with one lock at a time. */
final class Hand {
    private final CuratorFramework client;
    private final ExecutorService thread = Executors.newSingleThreadExecutor();
    private volatile String state = "free";
    private Lock lock;

    Hand(String hosts) throws Exception {
        client = Curator.connect(hosts);
    }

    private void acquire(Double limit) {
        try {
            state = lock.acquire(limit) ? "held " + lock.token() : "timeout";
        } catch (Exception e) {
            state = "failed " + e;
        }
    }

    String take(String kind, String path, String limit, String data) {
        lock = new Lock(client, kind, path, data);
        state = "waiting";
        thread.submit(() -> acquire(limit.equals("-") ? null : Double.valueOf(limit)));
        return "";
    }

    private interface Step {
        void run() throws Exception;
    }

    private void step(Step step) throws Exception {
        thread.submit(() -> {
            step.run();
            return null;
        }).get();
    }

    String release() throws Exception {
        step(lock::release);
        state = "free";
        return "";
    }

    String downgrade() throws Exception {
        step(lock::downgrade);
        return "";
    }

    String state() {
        return state;
    }

    String session() throws Exception {
        return Curator.session(client);
    }

    void close() {
        client.close();
    }
}

final class Commands {
    private final String hosts;
    private final Map<String, Hand> hands = new HashMap<>();

    Commands(String hosts) {
        this.hosts = hosts;
    }

    private String carryOut(String[] words) throws Exception {
        if (words[0].equals("drop")) {
            hands.remove(words[1]).close();
            return "";
        }
        if (!hands.containsKey(words[1])) {
            hands.put(words[1], new Hand(hosts));
        }
        Hand hand = hands.get(words[1]);
        switch (words[0]) {
            case "take": return hand.take(words[2], words[3], words[4], words[5]);
            case "state": return hand.state();
            case "release": return hand.release();
            case "downgrade": return hand.downgrade();
            case "session": return hand.session();
            default: throw new IllegalArgumentException("unknown command");
        }
    }

    void run() throws IOException {
        System.out.println("ready");
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null && !line.equals("quit");
                line = input.readLine()) {
            try {
                System.out.println("ok " + carryOut(line.split(" ")));
            } catch (Exception e) {
                System.out.println("error: " + e);
            }
        }
        hands.values().forEach(Hand::close);
        System.out.println("ok");
    }
}

// --- the loop ----------------------------------------------------------------------------

/** What this process did and saw; see spec/torture/history.lua. */
final class History {
    private final OutputStream file;
    private final String process;
    private final double offset;

    /** The offset is CLOCK_BOOTTIME, which Java does not have, less CLOCK_MONOTONIC. */
    History(Path path, String process, double offset) throws IOException {
        this.file = new FileOutputStream(path.toFile(), true);
        this.process = process;
        this.offset = offset;
    }

    double now() {
        return System.nanoTime() / 1e9 + offset;
    }

    synchronized void record(double at, String claim, String event, Object... fields)
            throws IOException {
        StringBuilder line = new StringBuilder(
                String.format(Locale.ROOT, "%.6f\t%s\t%s\t%s", at, process, claim, event));
        for (int i = 0; i < fields.length; i += 2) {
            String text = String.valueOf(fields[i + 1]);
            line.append('\t').append(fields[i]).append('=')
                .append(text.replace("%", "%25").replace("\t", "%09").replace("\n", "%0A"));
        }
        file.write(line.append('\n').toString().getBytes(StandardCharsets.UTF_8));
    }
}

/** The protected counter; see counter.lua. */
final class Counter {
    private final Path path;

    Counter(Path path) {
        this.path = path;
    }

    /** The words of the last line. */
    String[] read() throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "r")) {
            byte[] tail = new byte[(int) Math.min(file.length(), 512)];
            file.seek(file.length() - tail.length);
            file.readFully(tail);
            String[] lines = new String(tail, StandardCharsets.UTF_8).split("\n");
            return lines[lines.length - 1].split(" ");
        }
    }

    void write(String[] read, String element, long token) throws IOException {
        String line = (Long.parseLong(read[0]) + 1) + " " + element + " " + read[1] + " " + token;
        Files.write(path, (line + "\n").getBytes(StandardCharsets.UTF_8),
                StandardOpenOption.APPEND);
    }
}

final class Loop {
    private final String process;
    private final String hosts;
    private final Path folder;
    private final int workers;
    private final List<String> mutexes;
    private final List<String> paths;
    private final History history;
    private final Random random;
    private final AtomicInteger claims = new AtomicInteger();
    private CuratorFramework client;

    /** loop PROCESS HOSTS FOLDER SEED WORKERS MUTEXES RWLOCKS */
    Loop(String[] args) throws IOException {
        process = args[1];
        hosts = args[2];
        folder = Path.of(args[3]);
        random = new Random(Long.parseLong(args[4]));
        workers = Integer.parseInt(args[5]);
        mutexes = List.of(args[6].split(","));
        paths = new ArrayList<>(mutexes);
        paths.addAll(List.of(args[7].split(",")));
        history = new History(folder.resolve("history/" + process), process,
                Double.parseDouble(System.getProperty("clock.offset")));
    }

    private void pause(double seconds) throws InterruptedException {
        Thread.sleep((long) (seconds * 1000 * random.nextDouble()));
    }

    private boolean calm() {
        return Files.exists(folder.resolve("calm"));
    }

    /** A holder's work: adds to the counter, or sees that it stays the same. */
    private void work(String claim, String path, String kind, long token) throws Exception {
        Counter counter = new Counter(folder.resolve("store/" + path.replace('/', '_')));
        String[] read = counter.read();
        if (kind.equals("read")) {
            for (int i = 0; i < 2; i++) {
                double at = history.now();
                history.record(at, claim, "read", "element", counter.read()[1], "held", at);
                pause(0.004);
            }
            return;
        }
        pause(0.004);
        counter.write(read, claim, token);
        history.record(history.now(), claim, "wrote", "element", claim, "read", read[1],
                "token", token, "accepted", "true");
    }

    private void cycle() throws Exception {
        String claim = process + "-" + claims.incrementAndGet();
        String path = paths.get(random.nextInt(paths.size()));
        String kind = mutexes.contains(path) ? "mutex" : random.nextBoolean() ? "read" : "write";
        Double limit = random.nextInt(10) > 0 ? null : random.nextBoolean() ? 0 : 0.03;
        Lock lock = new Lock(client, kind, path, process + "\n" + claim);
        double begun = history.now();
        history.record(begun, claim, "invoked", "path", path, "kind", kind,
                "way", limit == null ? "acquire" : "try");
        if (!lock.acquire(limit)) {
            history.record(history.now(), claim, "failed", "code", "timeout", "begun", begun);
            return;
        }
        double at = history.now();
        long token = lock.token();
        history.record(at, claim, "granted", "token", token, "state", "held", "begun", begun);
        work(claim, path, kind, token);
        begun = history.now();
        lock.release();
        history.record(history.now(), claim, "released", "result", "ok", "begun", begun);
    }

    private void worker() {
        try {
            while (!calm()) {
                cycle();
                pause(0.01);
            }
        } catch (Throwable e) {
            e.printStackTrace();
            System.exit(1); // without its last event: the checker misses it
        }
    }

    void run() throws Exception {
        client = Curator.connect(hosts);
        history.record(history.now(), "-", "connected", "session", Curator.session(client),
                "timeout", Curator.SESSION_TIMEOUT / 1000);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < workers; i++) {
            threads.add(new Thread(this::worker));
            threads.get(i).start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        history.record(history.now(), "-", "closing", "session", Curator.session(client));
        client.close();
        history.record(history.now(), "-", "ended");
    }
}
