# order.pl - for truth.pl: reads from their logs which transactions ZooKeeper's servers carried out,
# in their order, and which they lost.
#
#   read_order(SERVERDIR...) → (\@order, \@lost)   transactions: { zxid, session, time, parts,
#                                                  servers = those that logged it, kept = those
#                                                  that still have it }
#   a part: { what = create|delete|set|close, path, data, ephemeral, count, version }
#
# The servers must be down or at rest. DIR/data/version-2 has the logs, and DIR/data/taken the parts
# cut off them (taken.c).
#
# A transaction that most servers have in their logs or snapshots was committed. A leader that is
# killed or cut off may leave transactions that it alone has. If it is elected again, they are
# committed, and it logs the transactions that come next, too; other servers may have them only in a
# snapshot, which is named after its last transaction. If another leader is elected, the old one's
# log lacks the transactions that come next.
#
# A transaction that two of three servers had in their logs has to stay, because each majority has a
# server that knows it. Servers lose such transactions all the same (ZOOKEEPER-4643). If a server got
# the others' data by a snapshot, lost transactions may even be in all logs. Then a later epoch makes
# a node once more, writes its version once more, or its parent counts a child once more. In that
# case the last transactions of the epochs before are lost, as many as keep later ones from fitting.
#
# Format: ZooKeeper's FileTxnLog; TxnHeader is clientId, cxid, zxid, time, type. The body
# of a multi is a list of type and body. A multi that failed is in the log, too. Its refused part
# has the type -1, and the parts before it look as if they had been carried out.
use strict;
use warnings;
no warnings 'portable'; # of numbers above 2^32

sub epoch { my ($txn) = @_; return $txn->{zxid} >> 32 }

# --- the logs --------------------------------------------------------------------------

sub text { my $value = unpack 'l>/a', $_[0]; substr $_[0], 0, 4 + length $value, ''; $value }
sub number { my $value = unpack 'l>', $_[0]; substr $_[0], 0, 4, ''; $value }

# The ACL stands behind path and data of a create.
sub skip_acl {
    my $count = number($_[0]);
    for (1 .. $count) { number($_[0]); text($_[0]); text($_[0]) }
}

my %parts_of; # type => function that reads its body

sub create {
    my ($body) = @_;
    my %part = (what => 'create', path => text($body), data => text($body));
    skip_acl($body);
    @part{qw(ephemeral count)} = unpack 'c l>', $body;
    return \%part;
}

# A container, or one with a time to live.
sub create_parent {
    my ($body) = @_;
    my %part = (what => 'create', path => text($body), data => text($body), ephemeral => 0);
    skip_acl($body);
    $part{count} = number($body);
    return \%part;
}

sub remove { my ($body) = @_; return { what => 'delete', path => text($body) } }

sub set {
    my ($body) = @_;
    my %part = (what => 'set', path => text($body), data => text($body));
    $part{version} = number($body);
    return \%part;
}

sub several {
    my @all = unpack 'l> / (l> l>/a)', $_[0];
    my @parts = map { [@all[2 * $_, 2 * $_ + 1]] } 0 .. @all / 2 - 1;
    return if grep { $_->[0] == -1 } @parts;
    return map { $parts_of{ $_->[0] } ? $parts_of{ $_->[0] }->($_->[1]) : () } @parts;
}

%parts_of = (
    1 => \&create, 15 => \&create, # create, create2
    19 => \&create_parent, 21 => \&create_parent,
    2 => \&remove, 20 => \&remove,
    5 => \&set,
    14 => \&several,
    -11 => sub { return { what => 'close' } },
);

# Adds the transactions of a file to %$txn, by zxid.
sub read_log {
    my ($file, $server, $txn, $kept) = @_;
    open my $log, '<:raw', $file or die "$file: $!\n";
    local $/;
    my $data = <$log>;
    my $at = 16; # behind "ZKLG", version, dbid
    while ($at + 12 <= length $data) {
        my (undef, $length) = unpack 'q> l>', substr $data, $at, 12;
        last if $length <= 0 || $at + 13 + $length > length $data; # preallocated, or cut off
        my ($session, undef, $zxid, $time, $type, $body) =
            unpack 'Q> l> q> q> l> a*', substr $data, $at + 12, $length;
        $txn->{$zxid} //= {
            zxid => $zxid, session => $session, time => $time,
            parts => [$parts_of{$type} ? $parts_of{$type}->($body) : ()],
        };
        $txn->{$zxid}{servers}{$server} = 1;
        $txn->{$zxid}{kept}{$server} = 1 if $kept;
        $at += 13 + $length;
    }
}

# All transactions in order, also those that were cut off the logs.
sub read_logs {
    my @dirs = @_;
    my %txn;
    for my $server (1 .. @dirs) {
        my $data = "$dirs[$server - 1]/data";
        read_log($_, $server, \%txn, 1) for glob "$data/version-2/log.*";
        read_log($_, $server, \%txn, 0) for glob "$data/taken/log.*";
    }
    return map { $txn{$_} } sort { $a <=> $b } keys %txn;
}

# --- the order ---------------------------------------------------------------------------

# [number of a server, the last transaction in its snapshot], ...
sub read_snapshots {
    my @dirs = @_;
    return map {
        my $server = $_;
        map { [$server, hex s/.*snapshot\.//r] } glob "$dirs[$server - 1]/data/version-2/snapshot.*"
    } 1 .. @dirs;
}

sub committed {
    my ($all, @dirs) = @_;
    my @snapshots = read_snapshots(@dirs);
    my ($next, @committed); # $next: the transaction behind it that most servers have
    for my $txn (reverse grep { $_->{kept} } @$all) {
        my %known = %{ $txn->{kept} };
        for (@snapshots) {
            my ($server, $last) = @$_;
            $known{$server} = 1 if $last >= $txn->{zxid} && $last >> 32 == epoch($txn);
        }
        my $most = 2 * keys %known > @dirs;
        my $goes_on = $next && grep { $next->{kept}{$_} } keys %{ $txn->{kept} };
        unshift @committed, $txn if $most || $goes_on;
        $next = $txn if $most;
    }
    return @committed;
}

# The tree, as far as the transactions say: path -> { version, count = of children made, owner };
# undef: it is not there.
my %node;

sub change {
    my ($undo, $path, $node) = @_;
    push @$undo, [$path, exists $node{$path}, $node{$path}];
    $node{$path} = $node;
}

my %apply; # kind of part => function that carries it out, and returns true if it fits

%apply = (
    create => sub {
        my ($undo, $txn, $part) = @_;
        my $parent = $part->{path} =~ s{/[^/]*$}{}r;
        my $count = $node{$parent} && $node{$parent}{count};
        my $fits = !$node{ $part->{path} }
            && (!defined $count || $part->{count} < 0 || $part->{count} == $count + 1);
        change($undo, $parent, { %{ $node{$parent} }, count => $part->{count} }) if $node{$parent};
        change($undo, $part->{path}, { version => 0, count => 0,
                                       owner => $part->{ephemeral} && $txn->{session} });
        return $fits;
    },
    delete => sub {
        my ($undo, $txn, $part) = @_;
        my $fits = $node{ $part->{path} } || !exists $node{ $part->{path} };
        change($undo, $part->{path}, undef);
        return $fits;
    },
    set => sub {
        my ($undo, $txn, $part) = @_;
        my $node = $node{ $part->{path} };
        my $version = $node && $node->{version};
        my $fits = ($node || !exists $node{ $part->{path} })
            && (!defined $version || $part->{version} == $version + 1);
        change($undo, $part->{path}, { %{ $node // {} }, version => $part->{version} });
        return $fits;
    },
    close => sub {
        my ($undo, $txn) = @_;
        my @own = grep { $node{$_} && ($node{$_}{owner} // 0) == $txn->{session} } keys %node;
        change($undo, $_, undef) for @own;
        return 1;
    },
);

# Takes back the last transaction of a history, and returns it.
sub undo {
    my ($history) = @_;
    my ($txn, $undo) = @{ pop @$history };
    for my $each (reverse @$undo) {
        my ($path, $known, $node) = @$each;
        if ($known) { $node{$path} = $node } else { delete $node{$path} }
    }
    return $txn;
}

# Adds a transaction to a history; true if it fits to what was before.
sub apply {
    my ($history, $txn) = @_;
    my ($undo, $fits) = ([], 1);
    for my $part (@{ $txn->{parts} }) {
        $fits = $apply{ $part->{what} }->($undo, $txn, $part) && $fits;
    }
    push @$history, [$txn, $undo];
    return $fits;
}

# Takes back transactions ahead of the last one's epoch, until all of that epoch fit. Takes back none
# if they do not fit before one of the last one's parents becomes unknown.
sub cut {
    my ($history) = @_;
    my (@epoch, @cut);
    my $last = $history->[-1][0];
    my @parents = grep { exists $node{$_} }
        map { $_->{path} =~ s{/[^/]*$}{}r } grep { $_->{path} } @{ $last->{parts} };
    unshift @epoch, undo($history) while @$history && epoch($history->[-1][0]) == epoch($last);
    while (@$history && !grep { !exists $node{$_} } @parents) {
        unshift @cut, undo($history);
        my $fit = 0;
        $fit++ while $fit < @epoch && apply($history, $epoch[$fit]);
        return if $fit == @epoch;
        undo($history) for 0 .. $fit;
    }
    apply($history, $_) for @cut, @epoch;
}

sub read_order {
    my @dirs = @_;
    my $history = [];
    my @all = read_logs(@dirs);
    for my $txn (committed(\@all, @dirs)) {
        apply($history, $txn) or cut($history);
    }
    my @order = map { $_->[0] } @$history;
    my %stays = map { $_->{zxid} => 1 } @order;
    my @lost = grep { !$stays{ $_->{zxid} } && 2 * keys %{ $_->{servers} } > @dirs } @all;
    return (\@order, \@lost);
}

1;
