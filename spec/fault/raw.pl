#!/usr/bin/perl
# raw.pl HOST:PORT COMMAND... - a ZooKeeper client that keeps no rules: what
# another program, or a person, may do to our nodes. One session for all
# commands; each prints one line, "ok ..." or "error CODE".
#
#   create FLAGS PATH   0 persistent, 1 ephemeral, 2 sequential, 3 both; prints the path
#   delete PATH
#   set PATH DATA
#   stat PATH           prints owner=HEX children=N czxid=N ctime=MS
#   children PATH       prints the names
#
# raw.pl HOST:PORT@SESSION [COMMAND...] - on a second connection of somebody's session, which it
# ends, as an expiry does; with commands it only goes, so that they are the session's own, which
# land late. The password is no secret: the server makes it from the id, with Java's Random.
use strict;
use warnings;
no warnings 'portable'; # 64 bits
use IO::Socket::INET;

my ($host, $id) = split /@/, shift @ARGV;
my $session = hex($id // 0);
my $others = defined $id && @ARGV;
my $socket = IO::Socket::INET->new(PeerAddr => $host) or die "no connection: $!\n";
my $xid = 0;

my $mask = (1 << 48) - 1;
my $seed = ($session ^ 0xB3415C00 ^ 0x5DEECE66D) & $mask;

# The next 32 bits of java.util.Random.
sub next_int {
    use integer; # wraps, as Java does
    $seed = $seed * 0x5DEECE66D + 0xB & $mask;
    return $seed >> 16 & 0xFFFFFFFF;
}

# Random.nextBytes gives the bytes of each number from the lowest.
my $password = join "", map { pack "V", next_int() } 1 .. 4;

sub text { pack "l> a*", length $_[0], $_[0] }

sub send_frame { print $socket text($_[0]); $socket->flush }

sub bytes {
    my $got = "";
    while (length $got < $_[0]) {
        sysread $socket, $got, $_[0] - length $got, length $got or die "connection lost\n";
    }
    return $got;
}

sub frame { bytes(unpack "l>", bytes(4)) }

sub request {
    my ($type, $body) = @_;
    send_frame(pack("l> l>", ++$xid, $type) . $body);
    my ($id, $zxid, $error, $reply) = unpack "l> q> l> a*", frame();
    return $error, $reply;
}

my $acl = pack("l> l>", 1, 31) . text("world") . text("anyone");

my %commands = (
    create => sub {
        my ($flags, $path) = @_;
        my ($error, $reply) = request(1, text($path) . text("") . $acl . pack "l>", $flags);
        return $error, $error ? "" : unpack "l>/a", $reply;
    },
    delete => sub { request(2, text($_[0]) . pack "l>", -1) },
    set => sub { (request(5, text($_[0]) . text($_[1]) . pack "l>", -1))[0], "" },
    stat => sub {
        my ($error, $reply) = request(3, text($_[0]) . pack "C", 0);
        return $error, "" if $error;
        my @stat = unpack "q> q> q> q> l> l> l> Q> l> l> q>", $reply;
        return 0, sprintf "owner=%x children=%d czxid=%d ctime=%d", @stat[7, 9, 0, 2];
    },
    children => sub {
        my ($error, $reply) = request(8, text($_[0]) . pack "C", 0);
        return $error, $error ? "" : join " ", unpack "l>/(l>/a)", $reply;
    },
);
my %arity = (create => 2, delete => 1, set => 2, stat => 1, children => 1);

# connect: protocol 0, nothing seen, a timeout of 10 s, the session, its password
send_frame(pack("l> q> l> Q>", 0, 0, 10000, $session) . text($password) . "\0");
my (undef, undef, $got) = unpack "l> l> Q>", frame();
die "refused\n" if $session && $got != $session;
while (defined(my $name = shift @ARGV)) {
    my $command = $commands{$name} or die "no command $name\n";
    my ($error, $answer) = $command->(splice @ARGV, 0, $arity{$name});
    print $error ? "error $error\n" : "ok $answer\n";
}
exit if $others;
send_frame(pack "l> l>", ++$xid, -11);
frame();
