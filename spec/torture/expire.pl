#!/usr/bin/perl
# expire.pl HOST:PORT SESSION - ends somebody's ZooKeeper session, as an expiry does: a
# second connection with the same id and password closes it. Prints "ok" when it did.
#
# expire.pl HOST:PORT SESSION NODE - that connection creates an ephemeral node instead, of the
# session, as one of its creates does that lands late; and goes.
#
# The password is no secret: the server makes it from the id, with Java's Random.
use strict;
use warnings;
no warnings 'portable'; # 64 bits
use IO::Socket::INET;

my ($host, $id, $node) = @ARGV;
my $session = hex $id;
my $socket = IO::Socket::INET->new(PeerAddr => $host) or die "no connection: $!\n";

my $mask = (1 << 48) - 1;
my $seed = ($session ^ 0xB3415C00 ^ 0x5DEECE66D) & $mask;

# The next 32 bits of java.util.Random.
sub next_int {
    use integer; # wraps, as Java does
    $seed = $seed * 0x5DEECE66D + 0xB & $mask;
    return $seed >> 16 & 0xFFFFFFFF;
}

# Random.nextBytes gives the bytes of each number from the lowest.
my $password = join '', map { pack 'V', next_int() } 1 .. 4;

sub send_frame { print $socket pack('l>/a', $_[0]); $socket->flush }

sub bytes {
    my $got = '';
    while (length $got < $_[0]) {
        sysread $socket, $got, $_[0] - length $got, length $got or die "connection lost\n";
    }
    return $got;
}

sub frame { bytes(unpack 'l>', bytes(4)) }

# connect: protocol 0, nothing seen, a timeout of 10 s, the session, its password
send_frame(pack('l> q> l> Q>', 0, 0, 10000, $session) . pack('l>/a', $password) . "\0");
my (undef, undef, $got) = unpack 'l> l> Q>', frame();
die "refused\n" if $got != $session;
if (defined $node) {
    my $acl = pack('l> l>', 1, 31) . pack('l>/a l>/a', 'world', 'anyone');
    send_frame(pack('l> l>', 1, 1) . pack('l>/a l>/a', $node, '') . $acl . pack 'l>', 1);
    my (undef, undef, $error) = unpack 'l> q> l>', frame();
    die "error $error\n" if $error;
} else {
    send_frame(pack 'l> l>', 1, -11);
    frame();
}
print "ok\n";
