#!/bin/sh
# Builds a release twice, which must be the same, and uses what it has as its users will: the archive by install.sh, the
# deb and the rpm in clean roots, the wheel in a new environment, the npm packages in an empty project. All of it is below
# a directory of its own, which goes at the end. SUITE is the Debian suite of the clean roots.
set -u
umask 022
: "${MAKE:?}"
tmp=/tmp/rel.$$
mkdir "$tmp" || exit
chmod 755 "$tmp"
root=$tmp/root out=$tmp/one
passed=0 failed=0 skipped=0

end() {
	for m in "$tmp"/root*/proc "$tmp"/root*/dev/shm; do mountpoint -q "$m" && umount "$m"; done
	rm -rf --one-file-system "$tmp"
	echo "$passed passed, $failed failed, $skipped skipped"
	[ $failed = 0 ] && [ $passed -gt 0 ]
}
trap 'end || exit 1' EXIT
trap 'exit 130' INT TERM

# check WHAT COMMAND...: the command succeeds.
check() {
	what=$1
	shift
	if said=$("$@" 2>&1); then
		echo "ok - $what"
		passed=$((passed + 1))
	else
		echo "FAILED - $what: $said"
		failed=$((failed + 1))
		return 1
	fi
}

# refuse WHAT EXPECTED COMMAND...: the command fails, and says what is expected.
refuse() {
	what=$1 expected=$2
	shift 2
	if said=$("$@" 2>&1); then said="it succeeded: $said"; else
		case $said in *"$expected"*)
			echo "ok - $what"
			passed=$((passed + 1))
			return
			;;
		esac
	fi
	echo "FAILED - $what: $said"
	failed=$((failed + 1))
}

# prints EXPECTED COMMAND...: what the command prints has the text.
prints() {
	expected=$1
	shift
	text=$("$@" 2>&1) || { echo "$text"; return 1; }
	case $text in *"$expected"*) ;; *) echo "it printed: $text"; return 1 ;; esac
}

skip() {
	echo "SKIPPED: $1"
	skipped=$((skipped + 1))
}

cat >"$tmp/shop.sql" <<'EOF'
CREATE TABLE t (a INT PRIMARY KEY);
INSERT INTO t VALUES (1), (2), (3);
EOF
count='ramaria sql -e "SELECT COUNT(*) FROM t"'

# The same commit is the same release, wherever it is built.
cp -R . "$tmp/here"
# build DIRECTORY: from the copy in the working directory.
build() { $MAKE -s release RELEASE="$1" TOOLS="$(dirname "$NFPM")"; }
cd "$tmp/here" || exit
check 'a build' build "$out" || exit
mv "$tmp/here" "$tmp/elsewhere"
cd "$tmp/elsewhere" || exit
check 'another, elsewhere' build "$tmp/two"
check 'both are the same' diff "$out/SHA256SUMS" "$tmp/two/SHA256SUMS"
rm -rf "$tmp/two"
check 'the checksums' sh -c "cd '$out' && sha256sum --quiet -c SHA256SUMS"
set -- "$out"/ramaria-*-linux-amd64.tar.gz
version=${1##*/ramaria-}
version=${version%-linux-amd64.tar.gz}
for kind in deb rpm; do
	check "a $kind for each machine" sh -c "[ \$(ls '$out' | grep -c '\\.$kind\$') = 2 ]"
done
check 'what is built in is listed' sh -c "grep -q github.com/go-sql-driver/mysql '$out/ramaria-$version-linux-arm64.sbom.json'"

check 'with licences' sh -c "[ \$(grep -c '\"licenses\"' '$out/ramaria-$version-linux-amd64.sbom.json') -gt 20 ]"
check 'and our version' grep -q "\"version\": \"v\?$version\"" "$out/ramaria-$version-linux-amd64.sbom.json"
check 'and in full, in the archive' sh -c "tar -tzf '$out/ramaria-$version-linux-amd64.tar.gz' | grep -q THIRD_PARTY_NOTICES"
check 'those of what the action has' sh -c "tar -xOzf '$out/setup-ramaria-$version.tar.gz' 'setup-ramaria-$version/THIRD_PARTY_NOTICES' | grep -q '^@actions/core '"

# install.sh, by an ordinary user and from a server of files.
check 'install.sh' env PREFIX="$tmp/prefix" FROM="$out" sh "$out/install.sh"
check 'its program' prints "$version" "$tmp/prefix/bin/ramaria" --version
check 'a page of the manual' test -s "$tmp/prefix/share/man/man1/ramaria-up.1.gz"
check 'install.sh over itself' env PREFIX="$tmp/prefix" FROM="$out" sh "$out/install.sh"
mkdir "$tmp/spoiled"
cp "$out/SHA256SUMS" "$tmp/spoiled/"
head -c 1000000 "$out/ramaria-$version-linux-amd64.tar.gz" >"$tmp/spoiled/ramaria-$version-linux-amd64.tar.gz"
refuse 'an archive that is not whole' 'is not what SHA256SUMS says' env PREFIX="$tmp/none" FROM="$tmp/spoiled" sh "$out/install.sh"
check 'which installs nothing' test ! -e "$tmp/none"

# The packages, in roots with nothing but Debian's essential packages.
if [ "$(id -u)" = 0 ] && command -v mmdebstrap >/dev/null; then
	if check 'a clean root' mmdebstrap --quiet --variant=minbase --include=ca-certificates "${SUITE:-bookworm}" "$root"; then
		cp "$tmp/shop.sql" "$root/root/"
		cp "$out"/ramaria_*_amd64.deb "$root/root/ramaria.deb"
		mount -t proc proc "$root/proc"
		mount -t tmpfs -o size=2G,mode=1777 tmpfs "$root/dev/shm"
		find "$root" -xdev \( -path "$root/var" -o -path "$root/proc" -o -path "$root/dev" \) -prune -o -print | sort >"$tmp/before"
		check 'the deb' chroot "$root" dpkg -i /root/ramaria.deb
		check 'its program' prints "$version" chroot "$root" ramaria --version
		check 'apt-get update' chroot "$root" apt-get -q update
		check 'a server with data, fetched by apt' prints 3 chroot "$root" ramaria run --from /root/shop.sql --volume shm -- sh -c "$count"
		check 'its licences' grep -q klauspost/compress "$root/usr/share/doc/ramaria/THIRD_PARTY_NOTICES"
		check 'the unit' grep -q '^ExecStart=/usr/bin/ramaria exporter' "$root/usr/lib/systemd/system/ramaria-exporter.service"
		check 'removed' chroot "$root" dpkg -r ramaria
		find "$root" -xdev \( -path "$root/var" -o -path "$root/proc" -o -path "$root/dev" \) -prune -o -print | sort >"$tmp/after"
		check 'which leaves nothing' diff "$tmp/before" "$tmp/after"
		check 'an rpm database' chroot "$root" apt-get -q install -y --no-install-recommends rpm
		cp "$out"/ramaria-*.x86_64.rpm "$root/root/ramaria.rpm"
		check 'the rpm' chroot "$root" rpm -i --nodeps /root/ramaria.rpm
		check 'its files are whole' chroot "$root" rpm -V --nodeps ramaria
		check 'its program' prints "$version" chroot "$root" /usr/bin/ramaria --version
		check 'removed' chroot "$root" rpm -e --nodeps ramaria
	fi
else
	skip 'packages in clean roots: that takes root, and mmdebstrap'
fi

# The clients.
if command -v python3 >/dev/null; then
	check 'a new environment of Python' python3 -m venv "$tmp/venv"
	check 'the wheel' sh -c "'$tmp/venv/bin/pip' install -q --disable-pip-version-check '$out'/ramaria-*x86_64*.whl pytest pymysql"
	check 'its program' prints "$version" "$tmp/venv/bin/ramaria" --version
	cat >"$tmp/test_shop.py" <<-'EOF'
		def test_shop(ramaria_connection):
		    cursor = ramaria_connection.cursor()
		    cursor.execute("SELECT COUNT(*) FROM t")
		    assert cursor.fetchone()[0] == 3
	EOF
	printf '[pytest]\nramaria_dump = shop.sql\n' >"$tmp/pytest.ini"
	check 'a test of Python' env RAMARIA_HOME="$tmp/home" RAMARIA_VOLUME=shm PATH="$tmp/venv/bin:$PATH" sh -c "cd '$tmp' && pytest -q test_shop.py"
	env RAMARIA_HOME="$tmp/home" "$tmp/venv/bin/ramaria" volume rm --all --force >/dev/null 2>&1
else
	skip 'the wheel: there is no python3'
fi
if command -v npm >/dev/null; then
	mkdir "$tmp/project"
	check 'an empty project of Node' sh -c "cd '$tmp/project' && npm init -y"
	check 'the packages of npm' sh -c "cd '$tmp/project' && npm install --no-audit --no-fund '$out'/ramaria-[0-9]*.tgz '$out'/ramaria-linux-x64-*.tgz mysql2"
	check 'their program' prints "$version" sh -c "cd '$tmp/project' && npx ramaria --version"
	cat >"$tmp/project/shop.test.mjs" <<-EOF
		import assert from 'node:assert/strict'
		import { test } from 'node:test'
		import { ramariaDatabase } from 'ramaria/node-test'
		import mysql from 'mysql2/promise'
		const db = ramariaDatabase({ template: { name: 'shop', from: '$tmp/shop.sql' }, connect: ({ url }) => mysql.createPool(url) })
		test('shop', async () => {
		  const [[{ n }]] = await db.connection.query('SELECT COUNT(*) AS n FROM t')
		  assert.equal(n, 3)
		})
	EOF
	check 'a test of Node' env RAMARIA_HOME="$tmp/home" RAMARIA_VOLUME=shm sh -c "cd '$tmp/project' && node --test shop.test.mjs"
	env RAMARIA_HOME="$tmp/home" sh -c "cd '$tmp/project' && npx ramaria volume rm --all --force" >/dev/null 2>&1
	rm -r "$tmp/project/node_modules/ramaria-linux-x64"
	refuse 'without the package for the machine' 'npm install --include=optional' sh -c "cd '$tmp/project' && npx ramaria --version"
else
	skip 'the packages of npm: there is no npm'
fi

# The image.
# pod ARGUMENTS...: podman, with a store of its own, where the system's mounts may be odd.
pod() {
	unshare -m --propagation private sh -c 'umount /sys/fs/cgroup/unified 2>/dev/null; exec podman "$@"' podman \
		--root "$tmp/pod" --runroot "$tmp/podrun" --cgroup-manager cgroupfs --events-backend file "$@"
}
# contained ARGUMENTS...: a container of the image.
contained() { pod run --network none --cgroups=disabled --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --shm-size 1g --volume "$tmp/dumps:/docker-entrypoint-initdb.d:ro" "$@"; }
if [ "$(id -u)" = 0 ] && command -v mmdebstrap >/dev/null && command -v podman >/dev/null; then
	check 'an image' sh packaging/oci/build.sh "$tmp/image" "$out/ramaria-$version-linux-amd64.tar.gz"
	check 'another' sh packaging/oci/build.sh "$tmp/image2" "$out/ramaria-$version-linux-amd64.tar.gz"
	check 'both are the same' cmp "$tmp/image" "$tmp/image2"
	check 'which podman takes' pod load -q -i "$tmp/image"
	image=$(pod images -q)
	mkdir -m 755 "$tmp/dumps"
	cp "$tmp/shop.sql" "$tmp/dumps/"
	chmod 644 "$tmp/dumps/shop.sql"
	refuse 'no password' 'there is no password' contained --rm "$image"
	check 'a container' contained -d --name shop -e MYSQL_DATABASE=shop -e MYSQL_USER=ann -e MYSQL_PASSWORD=secret -e RAMARIA_TEMPLATE=shop "$image"
	check 'which is ready' sh -c "for i in \$(seq 100); do grep -q 'main runs' '$tmp'/pod/overlay-containers/*/userdata/ctr.log && exit; sleep .2; done; exit 1"
	inside() { nsenter -t "$(pod inspect shop --format '{{.State.Pid}}')" -n mariadb -h 127.0.0.1 -u ann -psecret "$@"; }
	if command -v mariadb >/dev/null; then
		check 'its data' prints 3 inside -P 3306 shop -Ne 'SELECT COUNT(*) FROM t'
		check 'a clone behind its door' prints shop_1 inside -P 3307 shop@1 -Ne 'SELECT DATABASE()'
	else
		skip 'the data in the container: there is no mariadb client'
	fi
	check 'stopped' pod stop --time 20 shop
	check 'and not killed' sh -c "grep -q 'stopped instance main' '$tmp'/pod/overlay-containers/*/userdata/ctr.log"
	pod rm -f shop >/dev/null 2>&1
else
	skip 'the image: that takes root, mmdebstrap and podman'
fi

# The other machine.
if command -v qemu-aarch64-static >/dev/null; then
	tar -xzf "$out/ramaria-$version-linux-arm64.tar.gz" -C "$tmp"
	check 'arm64' prints "$version" qemu-aarch64-static "$tmp/ramaria-$version-linux-arm64/ramaria" --version
	for p in archive binlog dbconn dump front room; do
		check "tests of $p on arm64" env GOARCH=arm64 CGO_ENABLED=0 go test -short -exec qemu-aarch64-static "./internal/$p"
	done
else
	skip 'arm64: there is no qemu-aarch64-static (Debian: qemu-user-static)'
fi
