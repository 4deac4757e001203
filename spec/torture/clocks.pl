#!/usr/bin/perl
# clocks.pl FILE - writes down how far CLOCK_BOOTTIME is ahead of the time of day, ten times a
# second until its input ends: "TIME-OF-DAY OFFSET". The time of day may be slewed meanwhile.
use strict;
use warnings;
use Time::HiRes 'clock_gettime';

open my $file, '>', $ARGV[0] or die "$ARGV[0]: $!\n";
$file->autoflush(1);
my $open = '';
vec($open, fileno(STDIN), 1) = 1;
do {
    # A pause between the two readings only adds to the difference, so the smallest is right.
    my @readings = map { my $day = clock_gettime(0); [clock_gettime(7) - $day, $day] } 1 .. 5;
    my ($offset, $day) = @{ (sort { $a->[0] <=> $b->[0] } @readings)[0] };
    printf $file "%.6f %.6f\n", $day, $offset;
} until select(my $ready = $open, undef, undef, 0.1);
