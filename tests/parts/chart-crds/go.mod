module parts/chart-crds

go 1.26.0

require (
	github.com/cloudnative-pg/cloudnative-pg v1.29.1
	github.com/external-secrets/external-secrets v1.3.2
	github.com/prometheus-operator/prometheus-operator v0.85.0
	sigs.k8s.io/gateway-api v1.5.1
)
