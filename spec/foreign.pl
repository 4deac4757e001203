#!/usr/bin/perl
# foreign.pl - another client of the server: what zklock itself never does to a
# lock path. Needs nothing but perl-base.
#
#   perl spec/foreign.pl HOST:PORT COMMAND [ARGUMENT...] [COMMAND ...]
#
#   create PATH DATA      a persistent node of exactly this name
#   ephemeral PATH DATA   an ephemeral one
#   sequential PATH DATA  an ephemeral one, to whose name the server adds a number
#   delete PATH           whatever the version
#   set PATH DATA         the node's data
#   protect PATH          from now on anybody may read the node, nobody more
#   hide PATH             from now on nobody may read the node, anybody may write to it
#   show PATH             from now on anybody may do anything with the node
#   vanish                ends without closing the session, as a crash does: its
#                         ephemeral nodes stay for the session timeout (1 s)
#
# Prints the path of each node made. Ends at the first refusal: "error CODE".
use strict;
use warnings;
use IO::Socket::INET;

my $hosts = shift or die "usage: foreign.pl HOST:PORT COMMAND ...\n";
my $socket = IO::Socket::INET->new(PeerAddr => $hosts) or die "no connection: $hosts\n";
binmode $socket;
$| = 1;

# --- frames: a length, then what jute makes of it ---------------------------------

sub buffer { pack 'N/a*', $_[0] }

sub send_frame { print {$socket} buffer($_[0]); $socket->flush }

sub take {
    my ($size) = @_;
    my $bytes = '';
    while (length $bytes < $size) {
        sysread($socket, $bytes, $size - length $bytes, length $bytes) or die "error closed\n";
    }
    return $bytes;
}

sub receive_frame { take(unpack 'N', take(4)) }

my %type = (create => 1, delete => 2, set => 5, acl => 7, close => -11);
my $xid = 0;

# Gives the reply's body; the reply's head is its xid, a zxid and the code.
sub request {
    my ($name, $body) = @_;
    send_frame(pack('l> l>', ++$xid, $type{$name}) . $body);
    while (1) {
        my ($got, undef, $code, $reply) = unpack 'l> q> l> a*', receive_frame();
        next if $got != $xid;
        die "error $code\n" if $code != 0;
        return $reply;
    }
}

# --- what the commands send ---------------------------------------------------------

sub acl { pack('N N', 1, $_[0]) . buffer('world') . buffer('anyone') }

sub create {
    my ($path, $data, $flags) = @_;
    my $reply = request('create', buffer($path) . buffer($data) . acl(31) . pack('N', $flags));
    print unpack('N/a*', $reply), "\n";
}

sub permit {
    my ($path, $permissions) = @_;
    request('acl', buffer($path) . acl($permissions) . pack('l>', -1));
}

my $vanish = 0;
my %command = (
    create     => [2, sub { create(@_, 0) }],
    ephemeral  => [2, sub { create(@_, 1) }],
    sequential => [2, sub { create(@_, 3) }],
    delete     => [1, sub { request('delete', buffer($_[0]) . pack('l>', -1)) }],
    set        => [2, sub { request('set', buffer($_[0]) . buffer($_[1]) . pack('l>', -1)) }],
    protect    => [1, sub { permit($_[0], 1) }],
    hide       => [1, sub { permit($_[0], 18) }],
    show       => [1, sub { permit($_[0], 31) }],
    vanish     => [0, sub { $vanish = 1 }],
);

# connect: protocol 0, nothing seen, a timeout of 1 s, no session, no password
send_frame(pack('N q> N q>', 0, 0, 1000, 0) . buffer("\0" x 16));
receive_frame();
while (defined(my $word = shift)) {
    my ($count, $run) = @{ $command{$word} or die "no command: $word\n" };
    $run->(splice @ARGV, 0, $count);
}
request('close', '') unless $vanish;
