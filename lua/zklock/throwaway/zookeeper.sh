#!/bin/sh
# rig/zookeeper - throwaway ZooKeeper servers from Debian's packages
#
#   rig/zookeeper run     [-n 1|3] [-l] [-f] [-t TICK_MS] [--] COMMAND [ARG...]
#   rig/zookeeper start   [-n 1|3] [-l] [-f] [-t TICK_MS] [-w OWNER_PID] [-p PORT[,PORT...]]
#                         [-d DIR]
#   rig/zookeeper stop    DIR
#   rig/zookeeper kill    DIR N
#   rig/zookeeper launch  DIR N
#   rig/zookeeper restart DIR N
#   rig/zookeeper cut     DIR N
#   rig/zookeeper silence DIR N
#   rig/zookeeper heal    DIR N
#
# run      starts the servers, runs COMMAND with these variables, then stops the
#          servers and removes the folder; the exit status is COMMAND's.
#            ZK_HOSTS  127.0.0.1:PORT[,127.0.0.1:PORT...]
#            ZK_DIR    the temporary folder
#            ZK_PIDS   process ids of the servers, separated by spaces
#          TERM and HUP are passed on to COMMAND; INT and QUIT are left to it
#          (COMMAND shares the terminal, the servers do not), so that Ctrl-C
#          works in a REPL.
# start    starts the servers, prints dir=, hosts= and pids= lines fit for eval,
#          and returns. A watchdog stops the servers and removes the folder when
#          OWNER_PID is gone, however it went. Without -w the owner is the
#          parent of this script. Give -w where that may be a passing subshell
#          (popen, pipelines).
# stop     kills the servers, also suspended ones, and removes the folder; does
#          nothing when DIR is gone.
# kill     kills server N (from 1) with SIGKILL.
# launch   starts server N on its ports and data unless it runs, and does not wait.
# restart  starts server N again (kills it first if need be) on its ports and
#          data, waits until it serves, or only answers if there is no quorum,
#          and prints the pids= line.
# cut      (with -l) resets what connects server N with the other servers, and
#          refuses more; clients still reach it.
# silence  (with -l) the same without telling: connections stay open, and nothing
#          passes.
# heal     ends both.
#
# -n  servers: 1 standalone (default) or an ensemble of 3
# -l  the servers of the ensemble talk to each other through rig/links (see there)
# -f  the servers fsync their log before they answer a write, as in production. On tmpfs
#     (by TMPDIR or -d) that costs nothing
# -t  tickTime in milliseconds, 500 by default; sessions may last 2 ticks to 60 s
# -p  client ports, one for each server; by default free ones, below the range
#     of ephemeral ports, so that they stay free while a server is down
# -d  folder to use, absent or empty; by default a fresh one in ${TMPDIR:-/tmp}
#
# In DIR, server N keeps N/zoo.cfg, N/data, N/log and N/pid; links/ is what links
# them. JVMFLAGS from the environment of run or start is added to every server's
# command line. ZOOKEEPER_JARS names a folder with the zookeeper.jar and
# zookeeper-jute.jar of another version, which then runs instead of the machine's.
# ZOOKEEPER_PRELOAD is a library that the servers load first.
# Servers listen on 127.0.0.1 only, and serve all four-letter words.
# Needs: Debian's zookeeper (or libzookeeper-java alone) and default-jre-headless.

set -eu

jars=/usr/share/java
classes=
for jar in zookeeper zookeeper-jute slf4j-api slf4j-simple netty-all netty-common \
    netty-buffer netty-transport netty-handler netty-codec netty-resolver \
    commons-cli jackson-core metrics-core snappy-java
do
    classes=$classes${classes:+:}$jars/$jar.jar
done
# Puts zookeeper-jute.jar first, because the manifest of zookeeper.jar names the machine's.
if [ -n "${ZOOKEEPER_JARS:-}" ]; then
    jars=$(realpath -m "$ZOOKEEPER_JARS")
    classes=$jars/zookeeper-jute.jar:$jars/zookeeper.jar:$classes
fi

die() {
    printf 'rig/zookeeper: %s\n' "$*" >&2
    exit 1
}

usage() {
    sed -n '3,/^$/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

# --- processes ---------------------------------------------------------------

# Sets $birth to the start time of process $1; fails if it is gone or a zombie.
# With its start time, a process id cannot be mistaken for a later process.
born() {
    { read -r birth <"/proc/$1/stat"; } 2>/dev/null || return 1
    # shellcheck disable=SC2086 # split into the fields behind "PID (NAME)"
    set -- ${birth##*) }
    birth=${20}
    [ "$1" != Z ]
}

# True if the server (or the links) in folder $1 runs.
alive() {
    [ -s "$1/birth" ] && born "$(cat "$1/pid")" && [ "$birth" = "$(cat "$1/birth")" ]
}

# Kills the servers (or the links) in the given folders and waits until they are
# gone. SIGKILL also ends suspended servers, and nothing is left to tidy up.
kill_servers() {
    for server; do
        if alive "$server"; then kill -s KILL "$(cat "$server/pid")" 2>/dev/null || :; fi
    done
    for server; do
        while alive "$server"; do sleep 0.01; done
    done
}

# Removes folder $1 and all that runs in it. The watchdog may have begun to do so, too.
remove() {
    kill_servers "$1"/[1-9] "$1/links"
    watchdog=$(cat "$1/watchdog" 2>/dev/null || :)
    if [ -n "$watchdog" ] && [ "$watchdog" != $$ ]; then
        kill -s KILL -- "-$watchdog" 2>/dev/null || :
    fi
    rm -rf "$1"
}

# The watchdog: waits until process $2, born at $3, or folder $1 is gone.
watch() {
    perl -e '
        my ($dir, $owner, $birth) = @ARGV;
        while (-d $dir) {
            open my $stat, "<", "/proc/$owner/stat" or last;
            my ($state, @fields) = split " ", (<$stat> // "") =~ s/.*\) //r;
            last if !$state || $state eq "Z" || $fields[18] ne $birth;
            select undef, undef, undef, 0.2;
        }' "$@"
    if [ -d "$1" ]; then remove "$1"; fi
}

# Runs a command in the background, in a session of its own, with none of our files
# open. No Ctrl-C reaches it, and no reader of a pipe waits for it.
detached() {
    setsid "$@" </dev/null 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
}

# --- servers -----------------------------------------------------------------

need_packages() {
    command -v java >/dev/null || die "no java: install Debian's default-jre-headless"
    IFS=:
    for jar in $classes; do
        [ -r "$jar" ] || die "no $jar: install Debian's zookeeper (or libzookeeper-java)"
    done
    unset IFS
}

# Prints $1 free ports of 127.0.0.1, below the ephemeral range where there is room.
# So no outgoing connection can take the port of a server that is down, and no client
# that retries it gets connected to itself.
free_ports() {
    perl -MIO::Socket::INET -e '
        open my $range, "<", "/proc/sys/net/ipv4/ip_local_port_range";
        my ($first, $low) = (10000, split " ", $range ? <$range> : 0);
        my (%taken, @ports);
        for (my $try = 0; @ports < $ARGV[0] && $try < 10000; $try++) {
            my $wish = $low >= $first + 1000 ? $first + int rand($low - $first) : 0;
            my $socket = IO::Socket::INET->new(
                LocalAddr => "127.0.0.1", LocalPort => $wish, Listen => 1) or next;
            push @ports, $socket->sockport;
            $taken{$socket->sockport} = $socket;
        }
        exit 1 if @ports < $ARGV[0];
        print "@ports\n";' "$1" || die "no free ports"
}

# Writes the configuration of server $1. Further arguments are the client ports, then
# a quorum port and an election port for each server.
configure() {
    number=$1 folder=$dir/$1
    shift
    mkdir "$folder" "$folder/data" # fails if the watchdog has removed $dir
    {
        echo "dataDir=$folder/data"
        eval "echo clientPort=\${$number}"
        echo clientPortAddress=127.0.0.1
        echo "tickTime=$tick"
        echo "minSessionTimeout=$((2 * tick))"
        echo maxSessionTimeout=60000
        echo maxClientCnxns=0
        echo admin.enableServer=false
        echo '4lw.commands.whitelist=*'
        if [ "$servers" = 3 ]; then
            echo "initLimit=$((10000 / tick + 1))"
            echo "syncLimit=$((2000 / tick + 1))"
            if [ -n "$links" ]; then
                sed -n "s/^$number /server./p" "$dir/links/table"
            else
                printf 'server.%s\n' "1=127.0.0.1:$4:$7" "2=127.0.0.1:$5:$8" "3=127.0.0.1:$6:$9"
            fi
            echo "$number" >"$folder/data/myid"
        fi
    } >"$folder/zoo.cfg"
}

# Notes when the process that was started for folder $1 was born.
note_birth() {
    if born "$(cat "$1/pid")"; then echo "$birth" >"$1/birth"; fi
}

# Starts the server in folder $1 without waiting for it. Unless JVMFLAGS say so, it does not remove
# empty containers each minute, which a test would meet by chance.
launch() {
    preload=$(cat "$1/../preload")
    # shellcheck disable=SC2046 # JVMFLAGS are words
    detached env ${preload:+"LD_PRELOAD=$preload"} java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto \
        -XX:-UsePerfData -Xmx256m -XX:ErrorFile="$1/crash" \
        -Dzookeeper.forceSync="$(cat "$1/../fsync")" -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
        -Dznode.container.checkIntervalMs=3600000 \
        $(cat "$1/../jvmflags") -cp "$(cat "$1/../classes")" \
        org.apache.zookeeper.server.quorum.QuorumPeerMain "$1/zoo.cfg" >>"$1/log" 2>&1
    echo $! >"$1/pid"
    note_birth "$1"
}

# Starts the links between three servers on the given ports, as configure takes them.
launch_links() {
    mkdir "$dir/links"
    detached perl "${0%/*}/links" "$4:$7" "$5:$8" "$6:$9" >"$dir/links/table" 2>"$dir/links/log"
    echo $! >"$dir/links/pid"
    note_birth "$dir/links"
    until grep -q '^control' "$dir/links/table"; do
        alive "$dir/links" || die "no links: $(cat "$dir/links/log")"
        sleep 0.01
    done
}

# Gives the links of $dir a command.
tell_links() {
    [ -f "$dir/links/table" ] || die "$dir was started without -l"
    perl -MIO::Socket::INET -e '
        my $links = IO::Socket::INET->new(PeerAddr => "127.0.0.1:" . shift) or exit 1;
        print $links "@ARGV\n";
        exit((<$links> // "") ne "ok\n");' "$(sed -n 's/^control //p' "$dir/links/table")" "$@"
}

# Waits until the servers in the given folders serve requests ($1 is "serving") or
# at least respond ("answering"). Fails as soon as one ends or cannot listen.
#
# "conf" names the data folder, which shows that the server on the port is ours. A
# server that is asked while it loads its data may not close the connection after the
# answer, so this reads once, and does not wait for more.
await() {
    perl -MIO::Socket::INET -e '
        sub content { open my $file, "<", $_[0] or return ""; local $/; <$file> // "" }
        my ($want, @folders) = @ARGV;
        my $deadline = time + 30;
        while (@folders && time < $deadline) {
            my $folder = $folders[0];
            my ($pid) = content("$folder/pid") =~ /(\d+)/;
            exit 1 if content("/proc/$pid/stat") !~ /\) [^Z]/;
            exit 1 if content("$folder/log") =~ /BindException/;
            my ($port) = content("$folder/zoo.cfg") =~ /^clientPort=(\d+)/m;
            my $answer = "";
            my $socket = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port", Timeout => 1);
            if ($socket) {
                vec(my $readable = "", fileno $socket, 1) = 1;
                syswrite $socket, "conf";
                sysread $socket, $answer, 4096 if select $readable, undef, undef, 0.2;
            }
            if ($answer =~ m{^dataDir=\Q$folder\E/data/}m
                || $want eq "answering" && $answer =~ /not currently serving/) {
                shift @folders;
            } else {
                select undef, undef, undef, 0.01;
            }
        }
        exit(@folders ? 1 : 0);' "$@"
}

complain() {
    for server; do
        printf '%s\n' "--- end of the log of server ${server##*/}" >&2
        tail -n 20 "$server/log" >&2
    done
}

print_pids() {
    cat "$dir"/[1-9]/pid | paste -s -d ' ' | sed "s/.*/pids='&'/"
}

# Starts $servers servers in $dir, with client ports $ports if not empty.
start_servers() {
    for attempt in 1 2 3 4 5; do
        free=$(free_ports $((3 * servers)))
        # shellcheck disable=SC2086 # numbers
        set -- $ports $free
        if [ -n "$links" ]; then launch_links "$@"; fi
        hosts=
        for number in $(seq "$servers"); do
            configure "$number" "$@"
            eval "hosts=\$hosts\${hosts:+,}127.0.0.1:\${$number}"
            launch "$dir/$number"
        done
        if await serving "$dir"/[1-9]; then return; fi
        kill_servers "$dir"/[1-9] "$dir/links"
        if [ -n "$ports" ] || [ "$attempt" = 5 ] || ! grep -q BindException "$dir"/[1-9]/log
        then
            break
        fi
        rm -rf "$dir"/[1-9] "$dir/links"
    done
    complain "$dir"/[1-9]
    die "the server did not start; its log ends as above"
}

# Makes $dir, its watchdog and its servers, for the process $owner. If that fails, nothing
# stays behind.
open_rig() {
    case $servers in 1 | 3) ;; *) die "-n: 1 or 3" ;; esac
    [ -z "$links" ] || [ "$servers" = 3 ] || die "-l: with -n 3"
    case $tick in '' | *[!0-9]* | 0*) die "-t: milliseconds, at least 1" ;; esac
    # shellcheck disable=SC2086 # one word for each port
    set -- $ports
    [ $# = 0 ] || [ $# = "$servers" ] || die "-p: one port for each server"
    need_packages
    born "$owner" || die "-w: no process $owner"
    if [ -n "$dir" ]; then
        mkdir -p "$dir"
        [ -z "$(ls -A "$dir")" ] || die "$dir is not empty"
    else
        dir=$(mktemp -d "${TMPDIR:-/tmp}/zookeeper.XXXXXX")
    fi
    dir=$(cd "$dir" && pwd)
    : >"$dir/watchdog"
    trap 'remove "$dir"' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    # Java reads zoo.cfg as Latin-1, with escapes.
    ! printf %s "$dir" | LC_ALL=C grep -q '[^ -~]\|\\' ||
        die "ZooKeeper's folder must be ASCII without backslashes, not $dir: set TMPDIR"
    printf '%s\n' "${JVMFLAGS:-}" >"$dir/jvmflags"
    printf '%s\n' "$classes" >"$dir/classes"
    printf '%s\n' "${ZOOKEEPER_PRELOAD:-}" >"$dir/preload"
    echo "$fsync" >"$dir/fsync"
    detached sh "$0" watch "$dir" "$owner" "$birth" >/dev/null 2>&1
    echo $! >"$dir/watchdog"
    start_servers
}

# Runs a command in the background as if in the foreground, where a shell would defer
# its traps of TERM and HUP until the command ends.
run_command() {
    { true 9<&0; } 2>/dev/null || exec </dev/null # a closed input
    exec 9<&0
    # A shell starts background commands with INT and QUIT ignored.
    env --default-signal=INT,QUIT "$@" <&9 9<&- &
    command=$!
    exec 9<&-
    trap : INT QUIT
    trap 'kill -s TERM "$command" 2>/dev/null || :' TERM
    trap 'kill -s HUP "$command" 2>/dev/null || :' HUP
    while :; do
        if wait "$command"; then status=0; else status=$?; fi
        kill -0 "$command" 2>/dev/null || return "$status" # else a trap ended the wait
    done
}

# Sets $dir to the rig in folder $1.
find_rig() {
    [ -f "$1/watchdog" ] || die "$1: no servers of this script"
    dir=$(cd "$1" && pwd)
}

# --- verbs -------------------------------------------------------------------

[ $# -gt 0 ] || usage
verb=$1
shift
servers=1 links='' fsync=no tick=500 owner=$PPID ports='' dir=''

case $verb in
run)
    while getopts n:lft: option; do
        case $option in
        n) servers=$OPTARG ;;
        l) links=yes ;;
        f) fsync=yes ;;
        t) tick=$OPTARG ;;
        *) usage ;;
        esac
    done
    shift $((OPTIND - 1))
    [ $# -gt 0 ] || usage
    owner=$$
    open_rig
    ZK_HOSTS=$hosts ZK_DIR=$dir ZK_PIDS=$(cat "$dir"/[1-9]/pid | paste -s -d ' ')
    export ZK_HOSTS ZK_DIR ZK_PIDS
    if run_command "$@"; then exit 0; else exit $?; fi
    ;;
start)
    while getopts n:lft:w:p:d: option; do
        case $option in
        n) servers=$OPTARG ;;
        l) links=yes ;;
        f) fsync=yes ;;
        t) tick=$OPTARG ;;
        w) owner=$OPTARG ;;
        p) ports=$(echo "$OPTARG" | tr , ' ') ;;
        d) dir=$OPTARG ;;
        *) usage ;;
        esac
    done
    shift $((OPTIND - 1))
    [ $# = 0 ] || usage
    open_rig
    trap - EXIT
    printf "dir='%s'\nhosts='%s'\n" "$(printf %s "$dir" | sed "s/'/'\\\\''/g")" "$hosts"
    print_pids
    ;;
stop)
    [ $# = 1 ] || usage
    [ -e "$1" ] || exit 0
    find_rig "$1"
    remove "$dir"
    ;;
kill | launch | restart)
    [ $# = 2 ] || usage
    find_rig "$1"
    server=$dir/$2
    [ -f "$server/zoo.cfg" ] || die "$1: no server $2"
    if [ "$verb" = launch ]; then
        alive "$server" || launch "$server"
        exit
    fi
    kill_servers "$server"
    if [ "$verb" = kill ]; then exit; fi
    launch "$server"
    running=0 all=0
    for each in "$dir"/[1-9]; do
        all=$((all + 1))
        if alive "$each"; then running=$((running + 1)); fi
    done
    if [ $((2 * running)) -gt "$all" ]; then want=serving; else want=answering; fi
    await $want "$server" || { complain "$server"; die "server $2 did not start again"; }
    print_pids
    ;;
cut | silence | heal)
    [ $# = 2 ] || usage
    find_rig "$1"
    tell_links "$verb" "$2" || die "$1: no server $2"
    ;;
watch) # internal: the watchdog
    watch "$@"
    ;;
*)
    usage
    ;;
esac
