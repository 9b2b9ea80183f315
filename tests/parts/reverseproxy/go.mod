module parts/reverseproxy

go 1.26.0
