#!/usr/bin/perl
# counter.pl DATADIR PARENT NUMBER - the next sequential child of PARENT gets NUMBER.
#
# No request can set a parent's counter, and 2^31 creates take weeks. So this
# writes a server's transaction log with three transactions: the creates of PARENT
# and of a child, which sets the counter, and the child's delete. The server that
# owns DATADIR must be down, after a single start without any use.
#
# Format: ZooKeeper's FileTxnLog; TxnHeader is clientId, cxid, zxid, time, type.
use strict;
use warnings;

my ($dir, $parent, $number) = @ARGV;
die "usage: counter.pl DATADIR PARENT NUMBER\n" unless defined $number;

sub text { pack "l> a*", length $_[0], $_[0] }

sub header {
    my ($zxid, $type) = @_;
    return pack "q> l> q> q> l>", 0, 0, $zxid, 1000 * time, $type;
}

sub create_record {
    my ($zxid, $path, $counter) = @_;
    my $acl = pack("l> l>", 1, 31) . text("world") . text("anyone");
    return header($zxid, 1) . text($path) . text("") . $acl . pack "C l>", 0, $counter;
}

sub delete_record {
    my ($zxid, $path) = @_;
    return header($zxid, 2) . text($path);
}

sub adler32 {
    my ($low, $high) = (1, 0);
    for my $byte (unpack "C*", $_[0]) {
        $low = ($low + $byte) % 65521;
        $high = ($high + $low) % 65521;
    }
    return $high << 16 | $low;
}

open my $log, ">", "$dir/version-2/log.1" or die "$dir: $!\n";
binmode $log;
print $log pack "a4 l> q>", "ZKLG", 2, 0;
for my $txn (create_record(1, $parent, 1), create_record(2, "$parent/seed", $number),
             delete_record(3, "$parent/seed")) {
    print $log pack("q> l>", adler32($txn), length $txn), $txn, "B";
}
close $log or die "$dir: $!\n";
