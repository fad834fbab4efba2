package tests

// ranElsewhere says what runs a block of commands that TestPages does not run.
type ranElsewhere struct {
	// by are the tests that run these commands, or all that they consist of: scripts, tests of this package, packages, or
	// targets of make (make:NAME). why is the reason where no test can.
	by, why string
}

// elsewhere are the blocks of commands that TestPages does not run, by page and first line.
var elsewhere = map[string]ranElsewhere{
	// The program under test is there already.
	`README.md: make build && export PATH="$PWD/bin:$PATH"`:                                                                    {by: "TestClientsFromClone"},
	`docs/quickstart.md: make build && export PATH="$PWD/bin:$PATH"`:                                                           {by: "TestClientsFromClone"},
	`docs/install.md: FROM=bin/release sh packaging/release/install.sh`:                                                        {by: "TestInstall make:test-release"},
	`clients/java/README.md: make build && export PATH="$PWD/bin:$PATH"`:                                                       {by: "TestClientsFromClone"},
	`clients/node/README.md: make clients                                                       # the package, in bin/clients`: {by: "TestClientsFromClone"},
	`clients/python/README.md: make clients                                                  # the wheel, in bin/clients`:      {by: "TestClientsFromClone"},
	`docs/howto/fast-test-suite.md: go mod edit -replace github.com/ramaria-db/ramaria=CLONE`:                                  {by: "TestClientsFromClone"},
	`docs/howto/fast-test-suite.md: pip install CLONE/bin/clients/ramaria-*.whl pytest pymysql`:                                {by: "TestClientsFromClone"},
	`docs/howto/fast-test-suite.md: npm install --save-dev CLONE/bin/clients/ramaria-0.1.0.tgz mysql2`:                         {by: "TestClientsFromClone"},
	`docs/howto/fast-test-suite.md: make build && export PATH="$PWD/bin:$PATH"`:                                                {by: "TestClientsFromClone"},

	// Projects in other languages, with files of their own.
	`docs/languages.md: cp -R CLONE/docs/examples . && cd examples/NAME`: {by: "TestLanguages"},
	`docs/languages.md: ramaria up main --from ../shop.sql`:              {by: "TestLanguages"},
	`docs/languages.md: export RAILS_ENV=test`:                           {by: "TestLanguages"},
	`docs/languages.md: ls tests/*Test.php | xargs -P 2 -n 1 phpunit`:    {by: "TestLanguages"},
	`docs/languages.md: cargo test`:                                      {by: "TestLanguages"},
	`docs/languages.md: #!/bin/sh`:                                       {by: "TestLanguages TestLanguagesPage"},
	`docs/languages.md: sql "INSERT INTO items (name) VALUES ('cocoa')"`: {by: "TestLanguages TestLanguagesPage"},
	`docs/languages.md: sh run.sh`:                                       {by: "TestLanguages"},

	`docs/examples.md: cp -R CLONE/docs/examples . && cd examples/NAME`:                         {by: "TestClientsFromClone"},
	`docs/examples.md: python3 -m venv .venv`:                                                   {by: "TestClientsFromClone"},
	`docs/examples.md: npm install --no-audit --no-fund CLONE/bin/clients/ramaria-*.tgz mysql2`: {by: "TestClientsFromClone"},
	`docs/examples.md: go mod edit -replace github.com/ramaria-db/ramaria=CLONE`:                {by: "TestClientsFromClone"},
	`docs/examples.md: mvn -q -f CLONE/clients/java/pom.xml install -DskipTests`:                {by: "TestClientsFromClone"},

	// Benchmarks take minutes as they stand.
	`docs/bench.md: ramaria bench suite \`: {by: "bench-suite TestClientsFromClone"},
	`docs/howto/measure-what-ram-buys.md: ramaria bench suite --way 'truncate@disk=make test' --way 'reset@ramaria=make test-ramaria'`: {by: "bench-suite"},
	`docs/bench.md: ramaria bench cycle --save before.json`:                                                                            {by: "TestBench bench-compare"},
	"docs/bench.md: for i in 1 2 3; do ./old bench cycle --format json >> a.json; ./new bench cycle --format json >> b.json; done":     {by: "bench-output bench-compare"},
	`docs/howto/measure-what-ram-buys.md: ramaria bench suite -- ./test.sh`:                                                            {by: "bench-suite"},
	`docs/howto/measure-what-ram-buys.md: ramaria bench cycle fork load --dump mine.sql.gz --report report.html`:                       {by: "TestBench bench-cycle bench-fork"},
	`docs/howto/measure-what-ram-buys.md: ramaria bench oltp --threads 1,8,64     # sysbench read-write: rate and p99`:                 {by: "TestBench"},

	// Tests of the project, longer than usual.
	`CONTRIBUTING.md: export RAMARIA_TEST_SERVER=mariadb:11.8   # without it: all servers`:                                                            {by: "tests/random"},
	`CONTRIBUTING.md: RAMARIA_TEST_DIFFERENTIAL=1h go test ./tests/differential -run TestDifferential -timeout 3h -v`:                                 {by: "tests/differential"},
	`CONTRIBUTING.md: make corpus CORPUS='^(kea|sakila)/package'   # some inputs, by a pattern of their names`:                                        {by: "tests/corpus"},
	`docs/durability.md: go run ./tests/tearing -tries 1000                # in /dev/shm`:                                                             {by: "tests/tearing"},
	`docs/durability.md: flush='innodb_max_dirty_pages_pct=0 innodb_max_dirty_pages_pct_lwm=0 innodb_io_capacity=40000 innodb_io_capacity_max=80000'`: {by: "TestKilledServerLosesNothing"},

	// Other machines.
	`docs/clients.md: ramaria up main --from shop.sql --set bind_address=192.168.1.5 --api-listen 192.168.1.5:3443`: {by: "TestAPIListen"},
	`docs/clients.md: export RAMARIA_API='https://192.168.1.5:3443#sha256=5f1c...'`:                                 {by: "TestAPIListen"},
	`docs/clusters.md: db1$ ramaria cluster create shop --address 10.0.0.1 --from shop.sql`:                         {by: "TestClusterMachines"},
	`docs/hand-over.md: ramaria hand-over shop --to mariadb-cluster --out shop-to-galera`:                           {by: "hand-over TestHandOver"},
	`docs/replicas.md: ramaria replica add db1.example.com:3306 near --login admin.cnf --tls-ca ca.pem`:             {by: "TestReplicaAbroad"},
	`docs/ui.md: ssh -L 8765:127.0.0.1:8765 host ramaria ui --port 8765`:                                            {why: "ssh to another machine; TestUI opens the page"},
	`docs/durability.md: export AWS_ACCESS_KEY_ID=... AWS_SECRET_ACCESS_KEY=... AWS_REGION=eu-central-1`:            {by: "bucket"},
	`docs/durability.md: ramaria restore shop --at -10m --as before-the-mistake`:                                    {by: "restore bucket TestRestoreAnyMoment"},
	`docs/howto/ci-database.md: export RAMARIA_IMAGES=s3://ci/images`:                                               {by: "image-remote"},
	`docs/howto/ci-database.md: RAMARIA_SERVER=mysql:9.7 ramaria run --from schema.sql -- ./test.sh`:                {by: "TestMatrix"},

	// What does not end, what is typed into, and what it answers.
	`docs/front.md: ramaria up main --from shop.sql`:               {by: "TestFront"},
	`docs/front.md: $ mysql -h 127.0.0.1 -P 3307 -u app -p shop@1`: {by: "TestFront"},
	`docs/ui.md: $ ramaria ui`:                                     {by: "TestUI"},
	`docs/replicas.md: ramaria replica rm copy && ramaria replica add shop copy     # made again, it has what the source has`: {by: "TestReplicaDiverges"},
	`docs/monitoring.md: ramaria exporter &                                        # http://127.0.0.1:9847/metrics`:           {by: "exporter"},

	// What changes the machine, or needs another one.
	`docs/clusters.md: ramaria cluster create shop --netns --from shop.sql`:                                                                              {by: "TestClusterPartitions"},
	`docs/containers.md: make image`:                                                                                                                     {by: "make:test-release"},
	`docs/containers.md: podman run -d --shm-size 2g -p 127.0.0.1:3306:3306 -p 127.0.0.1:3307:3307 \`:                                                    {by: "make:test-release"},
	`docs/services.md: ramaria up shop --from shop.sql --durable    # as root: the instance`:                                                             {by: "make:test-vm service"},
	`docs/services.md: ramaria adopt mariadb            # as root: shows the plan, and changes nothing`:                                                  {by: "make:test-vm adopt"},
	`docs/services.md: ramaria server allow       # adds rules to the file in /etc/apparmor.d/local/ that the profile includes, or a module for SELinux`: {by: "internal/software"},
	`docs/services.md: semanage fcontext -a -t mysqld_db_t '/srv/ram(/.*)?'`:                                                                             {why: "SELinux without Ramaria"},
	`docs/volumes.md: ramaria volume fstab --volume tmpfs:2G --mount /srv/mysql-ram | sudo tee -a /etc/fstab`:                                            {by: "internal/volume"},
	`docs/wheatfs.md: # ramaria wheatfs mount /srv/tmp --ram 4G --disk /var/tmp -d`:                                                                      {by: "wheatfs"},
	`docs/wheatfs.md: # mkdir /srv/mysql-tmp`:                                                                                                            {by: "wheatfs"},
	`docs/wheatfs.md: # ramaria wheatfs mount /srv/tmp --ram 8G -d`:                                                                                      {by: "wheatfs"},
	`docs/wheatfs.md: modprobe loop`:                                                                                                                     {why: "LVM without Ramaria"},
	`docs/wheatfs.md: umount /srv/tmp`:                                                                                                                   {why: "LVM without Ramaria"},
	`docs/wheatfs.md: # cat /sys/block/$(basename $(readlink -f /dev/ramfirst/tmp))/queue/discard_max_bytes`:                                             {why: "LVM without Ramaria"},
}

// before are commands that make what a block takes for granted, by page and first line.
var before = map[string]string{
	`docs/dumps.md: ramaria load main shop shop.sql.gz`: `ramaria up main; gzip -k shop.sql`,
	`docs/howto/branch-production-like-data.md: mysqldump --single-transaction -h prod shop | ramaria up shop --from - --database shop`: `ramaria rm shop`,
	`docs/howto/when-data-outgrows-the-memory.md: ramaria move shop --volume disk`:                                                      `ramaria up shop --from shop.sql`,
}
