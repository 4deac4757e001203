#!/usr/bin/perl
# truth.pl SERVERDIR... - what really happened: the creates and deletes of lock nodes in
# ZooKeeper's order, from the servers' own transaction logs, as events of a history
# (history.lua). The servers must be down or at rest.
#
# A transaction of several (multi) that deletes one lock node and creates another on the
# same path is a downgrade: "became". Whether the names are right is for the checker.
# Data that end in the word of a node that is held, and will not be kept: "marked".
#
# A transaction that most of the servers have in their logs was committed. A leader that is
# killed or cut off leaves some that it alone has. If it is elected again, they are committed,
# and the others may have them by a snapshot, which no log shows; it logs what comes next, too.
# Else it is brought up to date without its log, which then lacks what came next.
#
# CLOCK is the leader's time of day when it took the request up, by this machine's
# CLOCK_BOOTTIME; to the millisecond, rounded down.
#
# Format: ZooKeeper's FileTxnLog; TxnHeader is clientId, cxid, zxid, time, type. The body
# of a multi is a list of type and body. One that failed is in the log, too: the part that was
# refused has the type -1, those before it look as if they had been carried out.
use strict;
use warnings;
use Time::HiRes 'clock_gettime';

my $offset = clock_gettime(7) - clock_gettime(0); # CLOCK_BOOTTIME - CLOCK_REALTIME
my $marker = qr{lock-|__lock__|__rlock__|__READ__|__WRIT__|permit-\d+-of-\d+-};
my $contender = qr{^(.*)/([^/]*(?:$marker)(?:\d{10}|-\d{9,10})|lock)$};

sub text { my $value = unpack 'l>/a', $_[0]; substr $_[0], 0, 4 + length $value, ''; $value }

# --- the logs: zxid -> [session, time, type, body], and in how many logs it is -------

my (%txn, %logs);

sub read_log {
    my ($file) = @_;
    open my $log, '<:raw', $file or die "$file: $!\n";
    local $/;
    my $data = <$log>;
    my $at = 16; # behind "ZKLG", version, dbid
    while ($at + 12 <= length $data) {
        my (undef, $length) = unpack 'q> l>', substr $data, $at, 12;
        last if $length <= 0 || $at + 13 + $length > length $data; # preallocated, or cut off
        my ($session, undef, $zxid, $time, $type, $body) =
            unpack 'Q> l> q> q> l> a*', substr $data, $at + 12, $length;
        $txn{$zxid} = [$session, $time, $type, $body];
        $logs{$zxid}{ $file =~ s{/[^/]*$}{}r } = 1;
        $at += 13 + $length;
    }
}

read_log($_) for map { glob "$_/data/version-2/log.*" } @ARGV;

# --- what they did ---------------------------------------------------------------------

my (%claim, %owner); # of the nodes that live

sub event {
    my ($event, $txn, $zxid, $node, $more) = @_;
    my ($path, $name) = $node =~ $contender or return;
    printf "%.6f\tzookeeper\t%s\t%s\tname=%s\tpath=%s\tsession=%x\tzxid=%d%s\n",
        $txn->[1] / 1000 + $offset, $claim{$node} // '-', $event, $name, $path, $txn->[0],
        $zxid, $more;
}

sub created {
    my ($txn, $zxid, $body) = @_;
    my $node = text($body);
    my $data = text($body);
    # Ours is the holder's identity, then on a line of its own the lock's data.
    $claim{$node} = $1 if $data =~ /(?:^|\n)([\w.-]+)$/;
    $owner{$node} = $txn->[0];
    event('created', $txn, $zxid, $node, '');
}

sub deleted {
    my ($txn, $zxid, $node, $cause) = @_;
    return unless exists $owner{$node};
    event('deleted', $txn, $zxid, $node, "\tcause=$cause");
    delete $claim{$node};
    delete $owner{$node};
}

sub closed {
    my ($txn, $zxid) = @_;
    deleted($txn, $zxid, $_, 'close') for grep { $owner{$_} == $txn->[0] } sort keys %owner;
}

sub changed {
    my ($txn, $zxid, $body) = @_;
    my $node = text($body);
    event('marked', $txn, $zxid, $node, '') if text($body) =~ /\x1fheld$/ && $owner{$node};
}

sub is_contender { $_[0] =~ $contender }

# Same path, one node for another: the claim and the owner go with the place.
sub became {
    my ($txn, $zxid, $was, $node) = @_;
    $claim{$node} = delete $claim{$was};
    $owner{$node} = delete $owner{$was};
    event('became', $txn, $zxid, $node, "\twas=" . $was =~ s{.*/}{}r);
}

my %meaning; # of a type: what is done with the transaction

sub several {
    my ($txn, $zxid, $body) = @_;
    my @all = unpack 'l> / (l> l>/a)', $body;
    my @parts = map { [@all[2 * $_, 2 * $_ + 1]] } 0 .. @all / 2 - 1;
    return if grep { $_->[0] == -1 } @parts;
    my ($was) = grep { $owner{$_} } map { text(my $copy = $_->[1]) } grep { $_->[0] == 2 } @parts;
    my ($node) = grep { is_contender($_) }
        map { text(my $copy = $_->[1]) } grep { $_->[0] == 1 || $_->[0] == 15 } @parts;
    return became($txn, $zxid, $was, $node)
        if @parts == 2 && $was && $node && $was =~ s{[^/]*$}{}r eq $node =~ s{[^/]*$}{}r;
    for my $part (@parts) {
        my $apply = $meaning{ $part->[0] } or next;
        $apply->($txn, $zxid, $part->[1]);
    }
}

%meaning = (
    1 => \&created, 15 => \&created, # create, create2
    2 => sub { deleted($_[0], $_[1], text($_[2]), 'delete') },
    5 => \&changed,
    14 => \&several,
    -11 => \&closed,
);

my @order = sort { $a <=> $b } keys %txn;
my ($next, %committed); # the next one behind it that most servers have

for my $zxid (reverse @order) {
    my @servers = keys %{ $logs{$zxid} };
    my $most = 2 * @servers > @ARGV;
    $committed{$zxid} = $most || $next && grep { $logs{$next}{$_} } @servers;
    $next = $zxid if $most;
}

for my $zxid (grep { $committed{$_} } @order) {
    my $txn = $txn{$zxid};
    my $apply = $meaning{ $txn->[2] } or next;
    $apply->($txn, $zxid, $txn->[3]);
}
