// Package durable keeps an instance's acknowledged commits through the loss of its RAM: it begins
// archives, follows a running server's log into them, makes base backups, and recovers.
//
// The invariant: what of an instance is in RAM is only used if the archive says that it is all that
// was acknowledged. Else the archive has the truth, and the instance is made again from it. An epoch
// of the archive is one life of the server's binary log; the instance says in instance.json which
// epoch its data belongs to.
package durable
