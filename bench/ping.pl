#!/usr/bin/perl
# ping.pl PORT COUNT - asks for /ping on one connection, one request after the other, a
# millisecond apart. Prints median and p99 in microseconds.
use strict;
use warnings;
use IO::Socket::INET;
use Time::HiRes qw(sleep time);

my ($port, $count) = @ARGV;
my $socket = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port") or die "no connection\n";
my @took;
for (1 .. $count) {
    my $begun = time;
    syswrite $socket, "GET /ping HTTP/1.1\r\nHost: bench\r\n\r\n";
    my $answer = '';
    until ($answer =~ /\r\n0\r\n\r\n$/) { # chunked
        sysread $socket, $answer, 4096, length $answer or die "hung up\n";
    }
    push @took, time - $begun;
    sleep 0.001;
}
@took = sort { $a <=> $b } @took;
printf "%.0f %.0f\n", 1e6 * $took[$#took / 2], 1e6 * $took[0.99 * $#took];
