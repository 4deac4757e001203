#!/usr/bin/perl
# fake.pl [ADDRESS:PORT] - a server that speaks as much of ZooKeeper's protocol as a session needs,
# and keeps no rules. Listens there (on a free port of 127.0.0.1), prints the port, then reads
# commands, one a line, and answers each with "ok". For rig.servant.
#
#   grant MS      the session timeout that it grants from now on, whatever is asked for
#   name ID       the id of each new session from now on
#   error CODE    answers requests with that code, but for pings, closes and credentials; 0: well
#   cut           ends all connections
#   forget        hangs up on sessions that it has seen ...
#   remember      ... takes them again
#   spurn         hangs up on each new connection
#   mute          takes connections and says nothing ...
#   deaf          ... greets those that come from now on, and answers no request ...
#   speak         ... greets them, and answers
#   distrust S    refuses credentials after that many seconds, and hangs up. If a request has come
#                 behind them by then, only resets the connection, which destroys the answer
#   connects      answers with how many connect requests there were: of new and of known sessions
#   sessions      answers with how many sessions are open
#   quit
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;
use Socket qw(SOL_SOCKET SO_LINGER);

my %op = (auth => 100, close => -11, get => 4, ping => 11, sync => 9);
my ($grant, $error, $forgetful, $mute, $deaf, $zxid) = (10000, 0, 0, 0, 0, 100);
my ($distrust, $auth_failed, $spurns) = (0, -115, 0);
my ($name, $last_session, %sessions) = (undef, 0x1000);
my %connects = (new => 0, known => 0);
my (%input, %session_of); # by connection

$| = 1;
$SIG{PIPE} = "IGNORE";
my $door = IO::Socket::INET->new(Listen => 64, ReuseAddr => 1,
    LocalAddr => shift @ARGV // "127.0.0.1") or die "no port\n";
my $all = IO::Select->new($door, \*STDIN);
print $door->sockport, "\n";

sub hang_up {
    my ($link) = @_;
    $all->remove($link);
    delete $input{$link};
    delete $session_of{$link};
    close $link;
}

sub send_frame { syswrite $_[0], pack "l>/a*", $_[1] }

sub greet {
    my ($link, $id) = @_;
    $id ||= $name // ++$last_session;
    $sessions{$id} = 1;
    $session_of{$link} = $id;
    send_frame($link, pack "l> l> q> l>/a* C", 0, $grant, $id, "\0" x 16, 0);
}

sub on_connect {
    my ($link, $frame) = @_;
    my (undef, undef, undef, $id) = unpack "l> q> l> q>", $frame;
    $connects{$id ? "known" : "new"}++;
    return if $mute;
    return hang_up($link) if $spurns || $id && $forgetful;
    greet($link, $id);
}

# The body of a good answer: data and stat of a node, or the path of a sync.
sub body {
    my ($type) = @_;
    return pack("l>", 0) . "\0" x 68 if $type == $op{get};
    return pack "l>/a*", "/" if $type == $op{sync};
    return "";
}

sub refuse_credentials {
    my ($link, $xid) = @_;
    select undef, undef, undef, $distrust;
    my $behind = length $input{$link} || IO::Select->new($link)->can_read(0);
    if ($behind) { setsockopt $link, SOL_SOCKET, SO_LINGER, pack "ii", 1, 0 }
    else { send_frame($link, pack "l> q> l>", $xid, $zxid, $auth_failed) }
    hang_up($link);
}

sub on_request {
    my ($link, $frame) = @_;
    my ($xid, $type) = unpack "l> l>", $frame;
    return if $deaf;
    return refuse_credentials($link, $xid) if $distrust && $type == $op{auth};
    my $spared = $type == $op{ping} || $type == $op{close} || $type == $op{auth};
    my $code = $spared ? 0 : $error;
    send_frame($link, pack("l> q> l>", $xid, ++$zxid, $code) . ($code ? "" : body($type)));
    delete $sessions{$session_of{$link}} if $type == $op{close};
    hang_up($link) if $type == $op{close};
}

sub on_input {
    my ($link) = @_;
    sysread $link, $input{$link}, 65536, length $input{$link} or return hang_up($link);
    while (defined $input{$link} && length $input{$link} >= 4) {
        my $size = unpack "l>", $input{$link};
        return if length $input{$link} < 4 + $size;
        my $frame = substr $input{$link}, 4, $size;
        substr $input{$link}, 0, 4 + $size, "";
        if (defined $session_of{$link}) { on_request($link, $frame) }
        else { on_connect($link, $frame) }
    }
}

my %commands = (
    grant => sub { $grant = shift; "" },
    name => sub { $name = shift; "" },
    error => sub { $error = shift; "" },
    spurn => sub { $spurns = 1; "" },
    forget => sub { $forgetful = 1; "" },
    remember => sub { $forgetful = 0; "" },
    mute => sub { $mute = 1; "" },
    deaf => sub { ($mute, $deaf) = (0, 1); "" },
    speak => sub { $mute = $deaf = 0; "" },
    distrust => sub { $distrust = shift; "" },
    cut => sub { hang_up($_) for grep { $_ != $door && $_ != \*STDIN } $all->handles; "" },
    connects => sub { "$connects{new} $connects{known}" },
    sessions => sub { scalar keys %sessions },
    quit => sub { print "ok\n"; exit },
);

sub on_command {
    my $line = "";
    while (sysread STDIN, my $byte, 1) {
        last if $byte eq "\n";
        $line .= $byte;
    }
    exit if $line eq "";
    my ($name, @arguments) = split " ", $line;
    my $answer = $commands{$name}->(@arguments);
    print $answer eq "" ? "ok\n" : "ok $answer\n";
}

while (my @ready = $all->can_read) {
    for my $link (@ready) {
        if ($link == \*STDIN) { on_command() }
        elsif ($link == $door) {
            my $new = $door->accept or next;
            $all->add($new);
            $input{$new} = "";
        }
        elsif (defined $input{$link}) { on_input($link) }
    }
}
