package host

// ReservedID is the uid and gid of servers that root starts. No other account has it:
// under the account of an installed server, an instance's FILE privilege would
// reach that server's data. It lies in the range that systemd sets aside for
// services without an account of their own, and below 65536, which small user
// namespaces end at.
const ReservedID = 61893
