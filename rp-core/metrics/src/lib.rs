//! Registry, bounded labels, Prometheus exposition, statsd emitter.
