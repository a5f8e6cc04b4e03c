// Package bench has what measurements need: statistics of samples, sampling
// within a budget of time, fair comparison by interleaving, the bandwidths by
// which collectives are judged, and the tables in which all of it is printed.
package bench

import (
	"math"
	"slices"
)

// Stats summarises samples; the unit is that of the samples (here: nanoseconds per call).
type Stats struct {
	N      int     `json:"n"`
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Mean   float64 `json:"mean"`
	P99    float64 `json:"p99"`
	Max    float64 `json:"max"`
	Stdev  float64 `json:"stdev"` // of the samples (n-1)
}

// Summarize leaves samples as they are. No samples give zeros.
func Summarize(samples []float64) Stats {
	n := len(samples)
	if n == 0 {
		return Stats{}
	}
	v := slices.Clone(samples)
	slices.Sort(v)
	s := Stats{N: n, Min: v[0], Max: v[n-1], Median: quantile(v, 0.5), P99: quantile(v, 0.99)}
	for _, x := range v {
		s.Mean += x / float64(n)
	}
	if n > 1 {
		sum := 0.0
		for _, x := range v {
			sum += (x - s.Mean) * (x - s.Mean)
		}
		s.Stdev = math.Sqrt(sum / float64(n-1))
	}
	return s
}

// quantile interpolates between the two nearest of the sorted samples.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	part := at - float64(i)
	return sorted[i]*(1-part) + sorted[i+1]*part
}

// GeoMean is the geometric mean of positive values; 0 for none, NaN if one is not positive.
func GeoMean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sum := 0.0
	for _, x := range values {
		if x <= 0 {
			return math.NaN()
		}
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(values)))
}
