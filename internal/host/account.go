package host

// ReservedID is the uid and gid of servers that root starts. No other account has it:
// under the account of an installed server, an instance's FILE privilege would
// reach that server's data. It lies in a range that nobody gives out: below that from which systemd takes accounts
// for services that have none of their own, 61184 to 65519, above those of users and containers, and below 65536, which
// small user namespaces end at. https://systemd.io/UIDS-GIDS/
const ReservedID = 60893

// FormerID is what it was in the range of systemd. An instance keeps the account that it was made with, which its record has.
const FormerID = 61893
