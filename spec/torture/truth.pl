#!/usr/bin/perl
# truth.pl SERVERDIR... - what really happened: the creates and deletes of lock nodes in
# ZooKeeper's order, from the servers' own transaction logs (order.pl), as events of a history
# (history.lua). The servers must be down or at rest.
#
# A transaction of several (multi) that deletes one lock node and creates another on the
# same path is a downgrade: "became". Whether the names are right is for the checker.
# Data that end in the word of a node that is held, and will not be kept: "marked".
#
# A change of a lock node that most servers logged and lost all the same is "lost". The event says
# what had been done, which servers had logged it, and when the first transaction without it came.
#
# CLOCK is when the leader took the request up, by CLOCK_BOOTTIME, rounded down to milliseconds. The
# logs have the time of day; $CLOCKS, a file of clocks.pl, has the offset at each time. Without that
# file the offset of now counts.
use strict;
use warnings;
use FindBin;
use Time::HiRes 'clock_gettime';
require "$FindBin::Bin/order.pl";

my @clocks = ([0, clock_gettime(7) - clock_gettime(0)]); # [time of day, CLOCK_BOOTTIME - that]
if ($ENV{CLOCKS}) {
    open my $file, '<', $ENV{CLOCKS} or die "$ENV{CLOCKS}: $!\n";
    @clocks = map { [split] } <$file>;
}
my $marker = qr{lock-|__lock__|__rlock__|__READ__|__WRIT__|permit-\d+-of-\d+-};
my $contender = qr{^(.*)/([^/]*(?:$marker)(?:\d{10}|-\d{9,10})|lock)$};

my (%claim, %owner); # of the nodes that live

# Where the time of day goes on by jumps, the later offset counts.
sub offset {
    my ($day) = @_;
    my ($low, $high) = (0, $#clocks);
    while ($low < $high) {
        my $middle = int(($low + $high + 1) / 2);
        if ($clocks[$middle][0] <= $day) { $low = $middle } else { $high = $middle - 1 }
    }
    return $clocks[$low][1];
}

sub clock {
    my ($txn) = @_;
    my $day = $txn->{time} / 1000;
    return sprintf '%.6f', $day + offset($day);
}

sub event {
    my ($event, $txn, $node, $more) = @_;
    my ($path, $name) = $node =~ $contender or return;
    printf "%s\tzookeeper\t%s\t%s\tname=%s\tpath=%s\tsession=%x\tzxid=%d%s\n", clock($txn),
        $claim{$node} // '-', $event, $name, $path, $txn->{session}, $txn->{zxid}, $more;
}

sub deleted {
    my ($txn, $node, $cause) = @_;
    return unless exists $owner{$node};
    event('deleted', $txn, $node, "\tcause=$cause");
    delete $claim{$node};
    delete $owner{$node};
}

my %happens = (
    create => sub {
        my ($txn, $part) = @_;
        # The data of our nodes is the holder's identity, then on a line of its own the lock's data.
        $claim{ $part->{path} } = $1 if $part->{data} =~ /(?:^|\n)([\w.-]+)$/;
        $owner{ $part->{path} } = $txn->{session};
        event('created', $txn, $part->{path}, '');
    },
    delete => sub { my ($txn, $part) = @_; deleted($txn, $part->{path}, 'delete') },
    close => sub {
        my ($txn) = @_;
        deleted($txn, $_, 'close') for grep { $owner{$_} == $txn->{session} } sort keys %owner;
    },
    set => sub {
        my ($txn, $part) = @_;
        event('marked', $txn, $part->{path}, '')
            if $part->{data} =~ /\x1fheld$/ && $owner{ $part->{path} };
    },
);

# Same path, one node for another: the claim and the owner go with the place.
sub became {
    my ($txn, $was, $node) = @_;
    $claim{$node} = delete $claim{$was};
    $owner{$node} = delete $owner{$was};
    event('became', $txn, $node, "\twas=" . $was =~ s{.*/}{}r);
}

sub happened {
    my ($txn) = @_;
    my @parts = @{ $txn->{parts} };
    my ($was) = grep { $owner{$_} } map { $_->{path} } grep { $_->{what} eq 'delete' } @parts;
    my ($node) = grep { $_ =~ $contender } map { $_->{path} } grep { $_->{what} eq 'create' } @parts;
    return became($txn, $was, $node)
        if @parts == 2 && $was && $node && $was =~ s{[^/]*$}{}r eq $node =~ s{[^/]*$}{}r;
    $happens{ $_->{what} }->($txn, $_) for @parts;
}

my %made; # nodes that each session made, also by lost transactions, for a lost close

sub lost {
    my ($txn, $next) = @_;
    my $more = sprintf "\tservers=%s\tover=%s", join(',', sort keys %{ $txn->{servers} }),
        $next ? clock($next) : '-';
    for my $part (@{ $txn->{parts} }) {
        my @nodes = $part->{what} eq 'close' ? sort keys %{ $made{ $txn->{session} } } : $part->{path};
        event('lost', $txn, $_, "\twhat=$part->{what}$more") for @nodes;
    }
}

my ($order, $lost) = read_order(@ARGV);
happened($_) for @$order;
for my $txn (@$order, @$lost) {
    $made{ $txn->{session} }{ $_->{path} } = 1 for grep { $_->{what} eq 'create' } @{ $txn->{parts} };
}
my $next = 0; # index in @$order of the first transaction behind the lost one
for my $txn (@$lost) {
    $next++ while $next < @$order && $order->[$next]{zxid} < $txn->{zxid};
    lost($txn, $order->[$next]);
}
