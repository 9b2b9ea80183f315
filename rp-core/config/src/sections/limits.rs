//! `[limits]`.

use std::time::Duration;

use ipnet::IpNet;
use rp_settings::{count, duration, networks, section};

section! {
    /// Bounds on what clients may use.
    "limits" pub struct Limits {
        /// Connections at once at each web listener. Beyond it the quietest one ends of those that have not signed in;
        /// else the new one is closed.
        connections: usize = count("16384", 1..=1_000_000),
        /// The same, of one address (IPv6: of its /64 network).
        per_address: usize = count("4096", 1..=1_000_000),
        /// Connections at once at each web listener whose client has not signed in.
        strangers: usize = count("4096", 1..=1_000_000),
        /// The same, of one address.
        strangers_per_address: usize = count("512", 1..=1_000_000),
        /// Answers that such a client may leave untaken on one connection; more requests get 503.
        stranger_answers: usize = count("16", 1..=100_000),
        /// How long such a connection may be without a request, and how long an answer may take to be taken in whole.
        stranger_time: Duration = duration("60s"),
        /// New connections of one address to each web listener; 0: no limit. A minute's worth may come at once.
        connections_per_minute: u32 = count("3000", 0..=1_000_000),
        /// A connection without a request is asked to leave after so long. On HTTP/1.1 `limits.head` holds too.
        idle: Duration = duration("10m"),
        /// A connection whose client takes nothing of what waits for it is cut after so long.
        stalled: Duration = duration("1h"),
        /// Networks of a balancer's health checks: 64 of their connections have a place when all others are taken.
        checks_from: Vec<IpNet> = networks("168.63.129.16/32"),
        /// HTTP/2: requests at once on a connection.
        streams: u32 = count("250", 1..=100_000),
        /// For a TLS handshake.
        handshake: Duration = duration("10s"),
        /// For the head of a request, and idle between two.
        head: Duration = duration("2m"),
        /// Largest head of a request.
        head_bytes: usize = count("65536", 4096..=1_048_576),
        /// Largest body of a request to the portal.
        body_bytes: usize = count("1048576", 1024..=1_073_741_824),
        /// Steps of sign-ins from one address; 0: no limit. A minute's worth may come at once.
        sign_in_per_minute: u32 = count("60", 0..=1_000_000),
        /// Grants, elevations and robots that one person asks for; 0: no limit.
        issue_per_minute: u32 = count("60", 0..=1_000_000),
        /// Further tokens and certificates of grants that one person asks for; 0: no limit.
        renewals_per_minute: u32 = count("600", 0..=1_000_000),
        /// Tokens and codes from one address that open nothing; 0: no limit.
        misses_per_minute: u32 = count("120", 0..=1_000_000),
        /// Streams opened with one grant; 0: no limit.
        streams_per_minute: u32 = count("600", 0..=1_000_000),
        /// Requests of this process to one cluster in the long run: pages, metrics and monitor together; 0: no limit.
        cluster_requests_per_second: u32 = count("50", 0..=10_000),
        /// Requests to one cluster at once after a rest.
        cluster_requests_burst: u32 = count("100", 1..=100_000),
        /// Clusters that are watched because somebody looks at them.
        watched_clusters: usize = count("300", 1..=10_000),
        /// Clusters whose last known state is kept after everybody left.
        kept_clusters: usize = count("100", 0..=10_000),
        /// Pages that follow a cluster at once.
        live_pages: usize = count("2000", 0..=100_000),
        /// The same, of one person; beyond, pages ask now and then.
        live_pages_per_person: usize = count("20", 0..=100_000),
        /// On stop: how long to go on serving while not ready, so that a balancer sees it first.
        leave: Duration = duration("1ms"),
        /// On stop: how long open requests may take to finish.
        drain: Duration = duration("20s"),
    }
}
