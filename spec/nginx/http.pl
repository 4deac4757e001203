#!/usr/bin/perl
# http.pl - an HTTP client that makes many requests at once.
#
#   perl spec/nginx/http.pl PORT [-a SECONDS] [-f FILE] [COUNT] PATH ...
#
# Requests each PATH COUNT times (default 1). Hangs up after SECONDS, or once FILE exists. Prints
# each answer when it is complete, with spaces for newlines, and status 0 without an answer:
# PATH STATUS SECONDS BODY
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;
use Time::HiRes qw(time);

my $port = shift or die "usage: http.pl PORT ...\n";
my ($patience, $count, $file, %open) = (120, 1, '');
my $select = IO::Select->new;
$| = 1;

sub begin {
    my ($path) = @_;
    my $socket = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port")
        or return print "$path 0 0 no connection\n";
    print {$socket} "GET $path HTTP/1.1\r\nHost: spec\r\nConnection: close\r\n\r\n";
    $socket->flush;
    $open{$socket} = { path => $path, begun => time, answer => '' };
    $select->add($socket);
}

sub finish {
    my ($socket) = @_;
    my $request = delete $open{$socket};
    $select->remove($socket);
    close $socket;
    my ($status) = $request->{answer} =~ m{^HTTP/1.1 (\d+)};
    my ($head, $body) = split /\r\n\r\n/, $request->{answer}, 2;
    $body = '' unless defined $body;
    $body =~ s/^[0-9a-f]+\r\n(.*?)\r\n0\r\n\r\n$/$1/s;
    $body =~ s/\s+/ /g;
    printf "%s %d %.4f %s\n", $request->{path}, $status || 0, time - $request->{begun}, $body;
}

while (defined(my $word = shift)) {
    if ($word eq '-a') { $patience = shift }
    elsif ($word eq '-f') { $file = shift }
    elsif ($word =~ /^\d+$/) { $count = $word }
    else { begin($word) for 1 .. $count; $count = 1 }
}

my $due = time + $patience;
while (%open && time < $due && !-e $file) {
    for my $socket ($select->can_read($file ? 0.02 : $due - time)) {
        my $more = sysread $socket, $open{$socket}{answer}, 65536, length $open{$socket}{answer};
        finish($socket) unless $more;
    }
}
finish($_) for $select->handles;
