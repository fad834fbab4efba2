# mysql_async of Rust, whose tests are in its crate.
fetch() {
	[ -e Cargo.toml ] || cargo init --quiet --vcs none --name suite
	cargo add --quiet mysql_async && cargo fetch --quiet
	manifest=$(cargo metadata --format-version 1 | grep -o '[^"]*/mysql_async-[^/"]*/Cargo.toml' | head -1)
	dir=${manifest%/*}
	rm -rf src/suite && cp -r "$dir" src/suite
	echo "${dir##*/}"
	# A workspace of its own, so that the crate is tested as it is published.
	echo '[workspace]' >>src/suite/Cargo.toml
	cd src/suite && cargo test --quiet --target-dir ../../target --lib --tests --no-run
}

run() {
	cd src/suite
	DATABASE_URL="mysql://$USER:$PASSWORD@$HOST:$PORT/$(echo "$DB" | sed "s,@,%40,g")?prefer_socket=false" COMPRESS=false SSL=false \
		cargo test --target-dir ../../target --lib --tests --no-fail-fast -- --test-threads 2 >"$LOG" 2>&1
	sed -nE 's/^test ([^ ]+) .*\.\.\. (ok|FAILED|ignored).*/\2 \1/p; s/^test ([^ ]+) \.\.\. (ok|FAILED|ignored).*/\2 \1/p' "$LOG" |
		sed -e 's/^ok/PASS/' -e 's/^FAILED/FAIL/' -e 's/^ignored/SKIP/'
}
