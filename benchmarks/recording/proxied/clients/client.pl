# What Perl's DBI does through a proxy: perl client.pl postgres|mariadb PORT.
use strict;
use warnings;
use DBI;

my ($product, $port) = @ARGV;
my %dsn = (
    postgres => ["dbi:Pg:host=127.0.0.1;port=$port;dbname=shop", "postgres"],
    mariadb => ["dbi:mysql:host=127.0.0.1;port=$port;database=shop", "root"],
);
my ($dsn, $user) = @{ $dsn{$product} };
my $db = DBI->connect($dsn, $user, "", { RaiseError => 1, PrintError => 0, AutoCommit => 0 });
my $get = $db->prepare("SELECT balance FROM accounts WHERE id = ? FOR UPDATE");
my $put = $db->prepare("UPDATE accounts SET balance = ? WHERE id = ?");
for my $n (0 .. 59) {
    $get->execute($n % 5 + 1);
    my ($balance) = $get->fetchrow_array;
    $get->finish;
    $put->execute($balance + 1, $n % 5 + 1);
    $n % 7 ? $db->commit : $db->rollback;
}
eval { $db->do("INSERT INTO accounts VALUES (1, 'again', 0)") };
$db->rollback;
$db->{AutoCommit} = 1;
$db->do("INSERT INTO notes (text, day) VALUES (?, ?)", undef, "it's \\ perl", "2020-01-31");
my ($count) = $db->selectrow_array("SELECT COUNT(*) FROM notes");
my $all = $db->selectall_arrayref("SELECT id, owner, balance FROM accounts ORDER BY id");
$db->disconnect;
