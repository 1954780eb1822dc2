package postgres

import (
	"context"

	"github.com/berthd/berth/gen/db"
)

// PlannerSettings returns the parameters that every connection should have set. Statements are prepared once and
// executed often; planning each execution would take two to three times as long. Their SQL is written so that the
// generic plan is the right one. Behind a pooler, which drops such settings, they belong to the database: ALTER
// DATABASE ... SET plan_cache_mode = force_generic_plan.
func PlannerSettings() map[string]string {
	return map[string]string{"plan_cache_mode": "force_generic_plan", "jit": "off"}
}

// MissingPlannerSettings returns the planner settings that connections lack, with the values that they have instead.
func (p *Pool) MissingPlannerSettings(ctx context.Context) (map[string]string, error) {
	lacking := map[string]string{}
	for name, wanted := range PlannerSettings() {
		found, err := QueryPrimary(ctx, p, func(from db.DBTX) (string, error) {
			return p.queries.SettingShow(ctx, from, name)
		})
		if err != nil {
			return nil, err
		}
		if found != wanted {
			lacking[name] = found
		}
	}
	return lacking, nil
}
