package supervisor

import (
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/metrics"
)

func TestBucketMetrics(t *testing.T) {
	r := &instance.Record{Name: "shop", Dir: t.TempDir(), Spec: instance.Spec{Durable: instance.DurableCommit, Archive: []string{"/a", "s3://well/shop", "s3://away/shop"}}}
	write := func() string {
		t.Helper()
		var b strings.Builder
		if err := writeBucketMetrics(metrics.Writer{Writer: &b}, r); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	states := []durable.BucketState{
		{Bucket: client.Bucket{URL: "s3://well/shop", InSync: true}},
		{Bucket: client.Bucket{URL: "s3://away/shop", Error: "no route"}, Behind: time.Now().Add(-100 * time.Second)},
	}
	if err := instance.WriteJSON(r.BucketsPath(), states); err != nil {
		t.Fatal(err)
	}
	text := write()
	for _, want := range []string{
		`ramaria_durable_bucket_lag_seconds{bucket="s3://well/shop"} 0`, `ramaria_durable_bucket_lag_seconds{bucket="s3://away/shop"} 10`,
		`ramaria_durable_bucket_failed{bucket="s3://well/shop"} 0`, `ramaria_durable_bucket_failed{bucket="s3://away/shop"} 1`,
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	if r.Spec.Archive = r.Spec.Archive[:1]; write() != "" {
		t.Errorf("without buckets there is %q", write())
	}
}
