#!/usr/bin/perl
# hostile.pl HOST:PORT - a proxy before a real server, which can turn its answers into lies that
# no ZooKeeper tells. Prints the port for clients, then reads commands, one a line, and answers
# each with "ok" or "ok ANSWER":
#
#   lie NAME   from now on this lie is told in each answer that it is about
#   truth      no more lies
#   told       how many lies were told since the last `lie`
#   asked      how many requests came since then, but for pings
#   quit
#
# hostile.pl --list prints the names of all lies. It serves one connection after another, or
# several; watch events pass unchanged, but for the lies about them.
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;
use Socket qw(IPPROTO_TCP TCP_NODELAY);

# --- the protocol ------------------------------------------------------------------------------

my %verbs = (1 => "create", 2 => "delete", 4 => "get", 5 => "set", 8 => "list", 9 => "sync",
             14 => "multi", 15 => "create", 19 => "create");
my ($EVENT, $CLOSE) = (-1, -11);

sub text { pack "l> a*", length $_[0], $_[0] }

sub names { pack("l>", scalar @_) . join "", map { text($_) } @_ }

# The parts of a true answer, so that a lie changes as little as it can.
sub path_of { unpack "l>/a", $_[0] } # also data, which comes as a path does
sub rest_of { substr $_[0], 4 + length path_of($_[0]) }
sub names_of { unpack "l>/(l>/a)", $_[0] }

# A Stat: czxid mzxid ctime mtime version cversion aversion owner size children pzxid.
my $STAT = "q> q> q> q> l> l> l> q> l> l> q>";

sub with_stat {
    my ($stat, %change) = @_;
    my @fields = unpack $STAT, $stat;
    @fields[keys %change] = values %change;
    return pack $STAT, @fields;
}

my ($CZXID, $VERSION, $OWNER) = (0, 4, 7);

# The results of a transaction, each with its type, error and body.
my ($CREATED, $WRITTEN, $REFUSED) = (1, 5, -1);
my $END = pack "l> C l>", -1, 1, -1;

sub results_of {
    my ($bytes, @results) = @_;
    while (length $bytes > length $END) {
        my ($type, undef, $error) = unpack "l> C l>", substr $bytes, 0, 9, "";
        my %size = ($WRITTEN => 68, $REFUSED => 4);
        my $size = $type == $CREATED ? 4 + length path_of($bytes) : $size{$type} // 0;
        push @results, [$type, $error, substr $bytes, 0, $size, ""];
    }
    return @results;
}

sub results { join("", map { pack("l> C l>", $_->[0], 0, $_->[1]) . $_->[2] } @_) . $END }

# Changes the body of each result of that type.
sub changed_results {
    my ($bytes, $type, $change) = @_;
    my @results = results_of($bytes);
    $_->[2] = $change->($_->[2]) for grep { $_->[0] == $type } @results;
    return results(@results);
}

sub refusal { [$REFUSED, $_[0], pack "l>", $_[0]] }

# --- lies ----------------------------------------------------------------------------------------
# A lie has a name, a verb, and a function that takes the true answer to such a request and the
# path that was asked about. It returns a false answer; or a code, an answer, and further frames.
# A request that failed is answered truly, unless the lie is told `always`.

my @lies;

sub lie { push @lies, { name => $_[0], verb => $_[1], tell => $_[2] } }

# Lies about a created path, with the true Stat.
sub lie_of_path {
    my ($what, $change) = @_;
    lie("a created path $what", "create",
        sub { text($change->(path_of($_[0]))) . rest_of($_[0]) });
    lie("a path created in a transaction $what", "multi", sub {
        changed_results($_[0], $CREATED, sub { text($change->(path_of($_[0]))) });
    });
}

lie_of_path("that is empty", sub { "" });
lie_of_path("without a slash", sub { $_[0] =~ s{/}{_}gr });
lie_of_path("that ends in a slash", sub { "$_[0]/" });
lie_of_path("somewhere else", sub { "/elsewhere" . $_[0] });
lie_of_path("below another node", sub { $_[0] =~ s{/([^/]*)$}{/deeper/$1}r });
lie_of_path("of another name", sub { $_[0] =~ s{/[^/]*$}{/_c_0-lock-0000000001}r });
lie_of_path("without a number", sub { $_[0] =~ s{\d{10}$}{}r });
lie_of_path("with a number that is none", sub { $_[0] =~ s{\d{10}$}{00000x0001}r });
lie_of_path("of 5000 bytes", sub { $_[0] . "0" x 5000 });
lie_of_path("with control characters", sub { "$_[0]\n\e[2J" });

# Lies about a field of the Stat that comes with an answer.
sub lie_of_stat {
    my ($what, %change) = @_;
    my $tell = sub { text(path_of($_[0])) . with_stat(rest_of($_[0]), %change) };
    lie("a create with $what", "create", $tell);
    lie("a node with $what", "get", $tell);
}

lie_of_stat("czxid 0", $CZXID => 0);
lie_of_stat("a negative czxid", $CZXID => -5);
lie_of_stat("one czxid for all", $CZXID => 1);
lie_of_stat("the largest czxid", $CZXID => ~0 >> 1);
lie_of_stat("a negative version", $VERSION => -1);
lie_of_stat("nobody as its owner", $OWNER => 0);

# Lies about the names of a list.
sub lie_of_names {
    my ($what, $change) = @_;
    lie("a list $what", "list", sub { $change->(names_of($_[0])) });
}

my $contender = "_c_11111111-2222-3333-4444-555555555555-lock-0000000001";

lie_of_names("of -1 names", sub { pack "l>", -1 });
lie_of_names("of -2147483648 names", sub { pack "l>", -0x80000000 });
lie_of_names("of more names than there are", sub { pack("l>", 1 + @_) . substr names(@_), 4 });
lie_of_names("with a name of -1 bytes",
             sub { pack("l>", 1 + @_) . pack("l>", -1) . substr names(@_), 4 });
lie_of_names("with a name of -1 bytes only", sub { pack "l> l>", 1, -1 });
lie_of_names("with an empty name", sub { names("", @_) });
lie_of_names("with a slash in a name", sub { names("a/$contender", @_) });
lie_of_names("with a name that is a path", sub { names(map { "/x/$_" } @_) });
lie_of_names("with a NUL in a name", sub { names("\0$contender", @_) });
lie_of_names("with control characters in a name", sub { names("\e[2J\n$contender", @_) });
lie_of_names("with a name of 100000 bytes", sub { names("x" x 100000 . $contender, @_) });
lie_of_names("with each name twice", sub { names(@_, @_) });
lie_of_names("with one name 1000 times", sub { names(@_, ($contender) x 1000) });
lie_of_names("with each number twice", sub { names(@_, map { "x$_" } @_) });
lie_of_names("with each uuid twice", sub { names(@_, map { s/\d{10}$/0000000000/r } @_) });
lie_of_names("with each uuid in a name of 400 bytes",
             sub { names(map { s/^(.{39})/$1 . "x" x 300/er } @_) });
lie_of_names("that is empty", sub { names() });
lie_of_names("of strangers", sub { names(map { $contender =~ s/1$/$_/r } 0 .. 9) });
lie_of_names("with a number at the end of the counter",
             sub { names(@_, $contender =~ s/\d{10}$/2147483647/r) });

# Lies about data.
lie("data of -1 bytes", "get", sub { pack("l>", -1) . rest_of($_[0]) });
lie("data of -5 bytes", "get", sub { pack("l>", -5) . rest_of($_[0]) });
lie("data of -2147483648 bytes", "get", sub { pack("l>", -0x80000000) . rest_of($_[0]) });
lie("data of a megabyte", "get", sub { text("x" x 1000000) . rest_of($_[0]) });
lie("a write with a negative version", "set", sub { with_stat($_[0], $VERSION => -1) });

# Lies about a transaction.
lie("a transaction without results", "multi", sub { results() });
lie("a transaction with one result less", "multi",
    sub { my @all = results_of($_[0]); pop @all; results(@all) });
lie("a transaction refused for no reason", "multi",
    sub { results(map { refusal(0) } results_of($_[0])) });
lie("a transaction refused, but for the first reason", "multi",
    sub { results(map { refusal(-2) } results_of($_[0])) });
lie("a transaction refused, but all is done", "multi", sub { (-101, $_[0]) });
lie("a transaction with a negative version", "multi",
    sub { changed_results($_[0], $WRITTEN, sub { with_stat($_[0], $VERSION => -1) }) });

# A lie about a sync, whose path no client uses.
lie("a sync of another path", "sync", sub { text("") });

# Answers that contradict each other.
sub lie_of_code {
    my ($code, $what, @verbs) = @_;
    for my $verb (@verbs) {
        lie("$what to each $verb", $verb, sub { ($code, "") });
        $lies[-1]{always} = 1;
    }
}

lie_of_code(-101, "no node", qw(create list get set multi delete sync));
lie_of_code(-110, "a node that exists", qw(create list multi));
lie_of_code(-4, "a connection that is lost", qw(create list get multi delete));
lie_of_code(-999, "an unknown error", qw(create list get set multi delete sync));
lie_of_code(5, "a positive error", qw(create list get));
lie("a wrong version in each transaction", "multi",
    sub {
        my (undef, @rest) = results_of($_[0]);
        results(refusal(0), map { refusal(-103) } @rest);
    });
$lies[-1]{always} = 1;
lie_of_code(-103, "a wrong version", "set");

# Events without a cause, behind the answer to a get.
sub lie_of_event {
    my ($what, $type, $state, $path) = @_;
    lie("an event $what", "get", sub {
        my $event = pack("l> q> l> l> l>", $EVENT, -1, 0, $type, $state) . text($path // $_[1]);
        return (0, $_[0], $event);
    });
}

lie_of_event("of a deletion", 2, 3);
lie_of_event("without a path", 2, 3, "");
lie_of_event("without a slash in its path", 2, 3, "lock");
lie_of_event("of no known kind", 99, 77);
lie_of_event("of an expired session", -1, -112, "");

# --- the proxy ---------------------------------------------------------------------------------

if ($ARGV[0] eq "--list") {
    print "$_->{name}\n" for @lies;
    exit;
}

my $server = shift;
my %lies = map { $_->{name} => $_ } @lies;
my ($lie, $told, $asked) = (undef, 0, 0);
my $listener = IO::Socket::INET->new(Listen => 8, LocalAddr => "127.0.0.1") or die;
my $select = IO::Select->new($listener, \*STDIN);
my %ends; # by socket: { to, buffer, client, asked => [requests that are out], frames }

sub open_both {
    my $client = $listener->accept or return;
    my $upstream = IO::Socket::INET->new(PeerAddr => $server) or return;
    $_->setsockopt(IPPROTO_TCP, TCP_NODELAY, 1) for $client, $upstream;
    my $asked = [];
    $ends{$client} = { to => $upstream, buffer => "", client => 1, asked => $asked };
    $ends{$upstream} = { to => $client, buffer => "", asked => $asked };
    $select->add($client, $upstream);
}

sub close_both {
    my $end = delete $ends{ $_[0] } or return;
    $select->remove($_[0], $end->{to});
    delete $ends{ $end->{to} };
    close $_ for $_[0], $end->{to};
}

sub take_request {
    my ($end, $frame) = @_;
    my ($xid, $type, $body) = unpack "l> l> a*", $frame;
    return if $xid < 0 || $type == $CLOSE;
    $asked++;
    my $verb = $verbs{$type} // "other";
    push @{ $end->{asked} }, { verb => $verb, body => $body };
}

sub answer {
    my ($end, $frame) = @_;
    my ($xid, $zxid, $error, $body) = unpack "l> q> l> a*", $frame;
    return $frame if $xid < 0;
    my $request = shift @{ $end->{asked} } or return $frame;
    return $frame unless $lie && $lie->{verb} eq $request->{verb};
    my $path = $request->{verb} eq "multi" ? "" : path_of($request->{body});
    return $frame if $error && !$lie->{always};
    my @said = $lie->{tell}->($body, $path);
    $told++;
    unshift @said, 0 if @said == 1;
    ($error, $body, my @more) = @said;
    return pack("l> q> l>", $xid, $zxid, $error) . $body, @more;
}

sub take_frame {
    my ($end, @frames) = @_;
    my $is_open = $end->{frames}++; # the first frame is the handshake
    if ($end->{client}) { take_request($end, @frames) if $is_open }
    elsif ($is_open) { @frames = answer($end, @frames) }
    my $bytes = join "", map { text($_) } @frames;
    while (length $bytes) {
        my $sent = syswrite $end->{to}, $bytes or return;
        substr $bytes, 0, $sent, "";
    }
    return 1;
}

sub take_bytes {
    my $socket = shift;
    my $end = $ends{$socket} or return;
    sysread $socket, $end->{buffer}, 65536, length $end->{buffer} or return close_both($socket);
    while (length $end->{buffer} >= 4) {
        my $length = unpack "l>", $end->{buffer};
        last if length $end->{buffer} < 4 + $length;
        my $frame = substr $end->{buffer}, 4, $length;
        substr $end->{buffer}, 0, 4 + $length, "";
        take_frame($end, $frame) or return close_both($socket);
    }
}

my %commands = (
    lie => sub { ($lie, $told, $asked) = ($lies{ $_[0] } // die("no lie $_[0]\n"), 0, 0); "" },
    truth => sub { $lie = undef; "" },
    told => sub { $told },
    asked => sub { $asked },
    quit => sub { print "ok\n"; exit },
);

my $typed = "";

sub take_commands {
    sysread STDIN, $typed, 4096, length $typed or exit;
    while ($typed =~ s/^(.*)\n//) {
        my ($name, $argument) = split / /, $1, 2;
        my $answer = $commands{$name}->($argument);
        print $answer eq "" ? "ok\n" : "ok $answer\n";
    }
}

$SIG{PIPE} = "IGNORE";
$| = 1;
print $listener->sockport, "\n";
while (my @ready = $select->can_read) {
    for my $socket (@ready) {
        if ($socket == \*STDIN) { take_commands() }
        elsif ($socket == $listener) { open_both() }
        else { take_bytes($socket) }
    }
}
