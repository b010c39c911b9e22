//! Command lines with options that stand in no page of docs/, one a line. A test reads each.

/// The command lines.
pub(super) const EXAMPLES: &str = "\
keystorm -h cache-1,cache-2 --protocol memcache --hash ketama get key:__key__
keystorm -h redis.example --user app -a secret get key:1
keystorm -h redis.example --user app --password-command 'cat token' --duration 30 -t get
keystorm -p 6379 --yes -n 10 KEYS 'user:*'
keystorm --dbnum 2 -t set
keystorm -3 --enable-tracking -t get
keystorm --no-touch -t get
keystorm --mptcp -h redis.example -t get
keystorm --cluster --rfr yes --rfr-without wait -r 10k get key:__key__
keystorm --cluster --rfr all --rfr-replicas 1 --rfr-connections 2:1 get key:__key__
keystorm --cluster --rfr yes --rfr-also 1 eval 'return 1' 0
keystorm --replicas 10.0.0.2:6379,10.0.0.3:6379 --rfr yes get key:__key__
keystorm -p 7000 --pool 127.0.0.1:7001,127.0.0.1:7002 -t get
keystorm --spawn --server-cpus 0 --cpus 1 -t get
keystorm -h 10.0.0.1 --source-ip 10.0.0.8,10.0.0.9 -c 50000 -I
keystorm --tls -h 10.0.0.1 --sni redis.example -t get
keystorm --tls --cacertdir /etc/ssl/certs -t get
keystorm --tls --cert client.pem --key client.key --cert-chain chain.pem -t get
keystorm --tls --tls-protocols TLSv1.3 --tls-ciphersuites TLS_AES_128_GCM_SHA256 -t get
keystorm --tls --tls-ciphers ECDHE-RSA-AES128-GCM-SHA256 --tls-groups X25519 -t get
keystorm -n 1000 --per-connection -t set
keystorm -n 1M --time-limit 30s -t get
keystorm -P 16 --window rolling -t get
keystorm -c 500 --set connect-spacing=1ms..5ms -t get
keystorm -k 0 --set requests-per-connection=100 -t get
keystorm --set renew=10 --duration 30 -t get
keystorm --reconnect yes --set reconnect-wait=10ms,2,1s --set reconnect-tries=20 --duration 60 -t get
keystorm --reconnect yes --set reconnect-timeout=500ms --duration 60 -t get
keystorm --retry 3 --retry-wait 10ms,2,1s --retry-jitter 0.2 -t get
keystorm --retry 3 --retry-queue 8 -P 16 -t get
keystorm -l -q -t get
keystorm -c 1000 -I
keystorm --probe 100 -c 200 -t get
keystorm --on ssh:a,b --on-loss go-on -t get
keystorm -r 1000 --set first-key=5000 -t set
keystorm -r 1000 --set unpadded set key:__key__ __data__
keystorm -r 1000 --set keys-by=connection --per-connection -n 1000 set key:__key__ __data__
keystorm --cluster -r 10k --set one-slot mget key:__rand_int__ key:__rand_int__
keystorm -r 10k -d uniform:100..4k --set size-by=request set key:__key__ __data__
keystorm -r 10k -d 1k --content compressible:3 -t set
keystorm -r 10k -d 100 --ttl 60..300 -t set
keystorm --fill --fill-with 'hset h:__key__ f __data__' -r 1000 hget h:__key__ f
keystorm --fill --clean -r 10k get key:__key__
keystorm --hit-ratio 0.9 --fill -r 10k get key:__key__
keystorm --fill --verify --fail-on-miss -r 10k get key:__key__
keystorm --mix --set order=1,2:9 -r 10k set key:__key__ __data__ ';' get key:__key__
keystorm --seed 7 -r 10k --key-dist zipf -t get
keystorm --dataset people.csv --maxdocs 1000 set user:__field:id__ __field:name__
keystorm --csv --precision 3 -t get
keystorm -t get --distribution full
keystorm --first-byte -d 100k -t get
keystorm -t get --no-verdict
keystorm -t get --duration 60 --sample --json run.json
keystorm --rps 30k --slo 'p99<2ms' -t get
keystorm --name 'cold reads' -t get --json cold.json
keystorm --workload ycsb-b --phase run
keystorm --workload ycsb-b --print-workload
keystorm -t function_load,fcall --num-functions 10 --num-keys-in-fcall 2
keystorm --dataset docs.xml --xml-root-element doc set k:__rand_int__ __field:text__
keystorm --shard 1/2 --start-at 1800000000 -r 10k -t get --json a.json
keystorm --clock server --shard 2/2 --start-at 1800000000 -r 10k -t get --json b.json
keystorm -x set key:1
keystorm --verify --set row-value=name --dataset people.csv set u:__field:id__ __field:name__ ';' get u:__field:id__
keystorm --version
";
