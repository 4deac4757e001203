#!/usr/bin/perl
# foreign.pl - another client of the server, which keeps no rules: what another program, or a
# person, may do to a lock path. Needs nothing but perl-base.
#
#   perl spec/foreign.pl HOST:PORT COMMAND [ARGUMENT...] [COMMAND ...]
#
#   create PATH DATA      a persistent node of exactly this name
#   ephemeral PATH DATA   an ephemeral one
#   numbered PATH DATA    a persistent one, to whose name the server adds a number
#   sequential PATH DATA  an ephemeral one, to whose name the server adds a number
#   delete PATH           whatever the version
#   set PATH DATA         the node's data
#   stat PATH             answers owner=HEX children=N czxid=N ctime=MS
#   children PATH         answers their names
#   protect PATH          from now on anybody may read the node, nobody more
#   hide PATH             from now on nobody may read the node, anybody may write to it
#   show PATH             from now on anybody may do anything with the node
#   vanish                ends without closing the session, as a crash does: its
#                         ephemeral nodes stay for the session timeout (1 s)
#
# Prints a line for each command: "ok ANSWER" (the path of a node that was made), or "error CODE".
#
# foreign.pl HOST:PORT@SESSION [COMMAND...] - on a second connection of somebody's session, which it
# ends, as an expiry does; with commands it only goes, so that they are the session's own, which
# land late. The password is no secret: the server makes it from the id, with Java's Random.
use strict;
use warnings;
no warnings 'portable'; # 64 bits
use IO::Socket::INET;

my ($host, $id) = split /@/, shift // die "usage: foreign.pl HOST:PORT COMMAND ...\n";
my $session = hex($id // 0);
my $vanish = grep { $_ eq 'vanish' } @ARGV;
my $stays = $vanish || defined $id && @ARGV; # the session
my $socket = IO::Socket::INET->new(PeerAddr => $host) or die "no connection: $host\n";
binmode $socket;

# --- a session's password -----------------------------------------------------------

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

# --- frames: a length, then what jute makes of it ---------------------------------

sub buffer { pack 'N/a*', $_[0] }

sub send_frame { print {$socket} buffer($_[0]); $socket->flush }

sub take {
    my ($size) = @_;
    my $bytes = '';
    while (length $bytes < $size) {
        sysread $socket, $bytes, $size - length $bytes, length $bytes or die "connection lost\n";
    }
    return $bytes;
}

sub receive_frame { take(unpack 'N', take(4)) }

my %type = (create => 1, delete => 2, stat => 3, set => 5, acl => 7, children => 8, close => -11);
my $xid = 0;

# Gives the reply's body; the reply's head is its xid, a zxid and the code.
sub request {
    my ($name, $body) = @_;
    send_frame(pack('l> l>', ++$xid, $type{$name}) . $body);
    my (undef, undef, $code, $reply) = unpack 'l> q> l> a*', receive_frame();
    die "error $code\n" if $code != 0;
    return $reply;
}

# --- what the commands send, and what they answer ----------------------------------

sub acl { pack('N N', 1, $_[0]) . buffer('world') . buffer('anyone') }

sub create {
    my ($flags, $path, $data) = @_;
    my $body = buffer($path) . buffer($data) . acl(31) . pack('N', $flags);
    return unpack 'N/a*', request('create', $body);
}

sub permit {
    my ($permissions, $path) = @_;
    request('acl', buffer($path) . acl($permissions) . pack('l>', -1));
    return '';
}

sub change {
    my ($name, @texts) = @_;
    request($name, join('', map { buffer($_) } @texts) . pack('l>', -1));
    return '';
}

sub look { request($_[0], buffer($_[1]) . pack('C', 0)) }

sub told_stat {
    my @stat = unpack 'q> q> q> q> l> l> l> Q> l> l> q>', look('stat', @_);
    return sprintf 'owner=%x children=%d czxid=%d ctime=%d', @stat[7, 9, 0, 2];
}

my %command = (
    create     => [2, sub { create(0, @_) }],
    ephemeral  => [2, sub { create(1, @_) }],
    numbered   => [2, sub { create(2, @_) }],
    sequential => [2, sub { create(3, @_) }],
    delete     => [1, sub { change('delete', @_) }],
    set        => [2, sub { change('set', @_) }],
    stat       => [1, \&told_stat],
    children   => [1, sub { join ' ', unpack 'N/(N/a)', look('children', @_) }],
    protect    => [1, sub { permit(1, @_) }],
    hide       => [1, sub { permit(18, @_) }],
    show       => [1, sub { permit(31, @_) }],
    vanish     => [0, sub { '' }],
);

# connect: protocol 0, nothing seen, a timeout, the session, its password
send_frame(pack('N q> N Q>', 0, 0, $vanish ? 1000 : 10000, $session) . buffer($password) . "\0");
my (undef, undef, $got) = unpack 'N N Q>', receive_frame();
die "refused\n" if $session && $got != $session;
while (defined(my $word = shift)) {
    my ($count, $run) = @{ $command{$word} or die "no command: $word\n" };
    my $answer = eval { $run->(splice @ARGV, 0, $count) };
    die $@ if $@ && $@ !~ /^error/;
    print $@ || "ok $answer\n";
}
request('close', '') unless $stays;
