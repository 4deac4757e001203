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
use strict;
use warnings;
use IO::Socket::INET;

my $socket = IO::Socket::INET->new(PeerAddr => shift @ARGV) or die "no connection: $!\n";
my $xid = 0;

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

send_frame(pack("l> q> l> q>", 0, 0, 10000, 0) . text("\0" x 16) . "\0");
frame();
while (defined(my $name = shift @ARGV)) {
    my $command = $commands{$name} or die "no command $name\n";
    my ($error, $answer) = $command->(splice @ARGV, 0, $arity{$name});
    print $error ? "error $error\n" : "ok $answer\n";
}
send_frame(pack "l> l>", ++$xid, -11);
frame();
