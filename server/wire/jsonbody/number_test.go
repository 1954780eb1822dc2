package jsonbody_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/berthd/berth/server/wire/jsonbody"
)

func TestJSON_Int_AcceptsIntegralNumbers(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		in   string
		want jsonbody.Int
	}{
		{`10`, 10},
		{`10.0`, 10},
		{`1e1`, 10},
		{`-2.50e1`, -25},
		{`-0`, 0},
		{`9223372036854775807`, math.MaxInt64},
		{`9223372036854775808`, math.MaxInt64},
		{`1e1000000000`, math.MaxInt64},
		{`-1e1000000000`, math.MinInt64},
		{`-9223372036854775809`, math.MinInt64},
		{`null`, 7},
	} {
		t.Run(test.in, func(t *testing.T) {
			t.Parallel()
			got := jsonbody.Int(7)
			if err := json.Unmarshal([]byte(test.in), &got); err != nil || got != test.want {
				t.Errorf("%s = %d, %v; want %d", test.in, got, err, test.want)
			}
		})
	}
}

func TestJSON_IntFromOtherValue_ReturnsError(t *testing.T) {
	t.Parallel()

	for in, want := range map[string]string{
		`1.5`:   "1.5 is not an integer",
		`"10"`:  `'"10"' is not an integer`,
		`true`:  "'true' is not an integer",
		`{}`:    "'{}' is not an integer",
		`1e-10`: "1e-10 is not an integer",
	} {
		t.Run(in, func(t *testing.T) {
			t.Parallel()
			got := jsonbody.Int(7)
			if err := json.Unmarshal([]byte(in), &got); err == nil || err.Error() != want || got != 7 {
				t.Errorf("%s = %d, %v; want error %q", in, got, err, want)
			}
		})
	}
}

func TestJSON_Int_MarshaledAsNumber(t *testing.T) {
	t.Parallel()

	got, err := json.Marshal([]jsonbody.Int{math.MinInt64, 0, math.MaxInt64})
	if want := `[-9223372036854775808,0,9223372036854775807]`; err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}

// FuzzInt compares Int with Decode: Int accepts exactly the values that the validator treats as integers.
func FuzzInt(f *testing.F) {
	for _, seed := range []string{`10`, `10.0`, `1e1`, `1.5`, `1e999`, `-0.0`, `"1"`, `1e`, ` 1`, `9007199254740993.0`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var got jsonbody.Int
		err := json.Unmarshal(raw, &got)
		value, decodeErr := jsonbody.Decode(raw)
		if decodeErr != nil || value == nil {
			return
		}
		switch value := value.(type) {
		case int64:
			if err != nil || int64(got) != value {
				t.Fatalf("%q: Decode = %d, Int = %d, %v", raw, value, got, err)
			}
		case float64:
			if integral := value == math.Trunc(value); integral != (err == nil) {
				t.Fatalf("%q: Decode = %v, Int = %d, %v", raw, value, got, err)
			}
		default:
			if err == nil {
				t.Fatalf("%q: Decode = %v, Int = %d", raw, value, got)
			}
		}
	})
}
