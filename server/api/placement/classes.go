package placement

import (
	"context"
	"net/http"
	"sync"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/jsonbody"
)

// ResourceClass is a resource class.
type ResourceClass struct {
	Name  string `json:"name" doc:"The class." example:"CUSTOM_BAREMETAL_GOLD"`
	Links []Link `json:"links" doc:"The path of the class."`
}

// ResourceClasses is the response with all resource classes.
type ResourceClasses struct {
	Classes []ResourceClass `json:"resource_classes" doc:"Standard classes first, then custom ones in the order of their creation."`
}

// ResourceClassName is the request that creates or renames a class.
type ResourceClassName struct {
	Name string `json:"name" pattern:"^CUSTOM_[A-Z0-9_]+$" maxLength:"255" doc:"The class." example:"CUSTOM_BAREMETAL_GOLD"`
}

// classPath is the input of operations on one class.
type classPath struct {
	Name string `path:"name" doc:"The class." example:"CUSTOM_BAREMETAL_GOLD"`
}

func (o *operations) resourceClassOperations() []*route.Operation {
	const all, single = "/resource_classes", "/resource_classes/{name}"
	example := map[string]any{"name": exampleClass}
	shown := route.Example(func(ctx context.Context) any { return classLinks(ctx, exampleClass) })
	list := route.Example(func(ctx context.Context) any {
		return ResourceClasses{Classes: []ResourceClass{classLinks(ctx, "VCPU"), classLinks(ctx, exampleClass)}}
	})
	return []*route.Operation{{
		ID: "resource-class-list", Method: http.MethodGet, Path: all, Tag: tagClasses, Rule: policy.ClassesList,
		Summary: "List resource classes", Checks: readsSince,
		Variants: []route.Variant{route.From(v(2), o.resourceClassList, list)},
	}, {
		ID: "resource-class-create", Method: http.MethodPost, Path: all, Tag: tagClasses, Rule: policy.ClassesCreate,
		Summary: "Create a custom resource class", Checks: writesSince, Fails: []route.Failure{classExists},
		Variants: []route.Variant{route.Write(v(2), route.Body[none]{Example: example}, o.resourceClassCreate,
			route.Status(http.StatusCreated))},
	}, {
		ID: "resource-class-show", Method: http.MethodGet, Path: single, Tag: tagClasses, Rule: policy.ClassesShow,
		Summary: "Show a resource class", Checks: readsSince, Fails: []route.Failure{classNotFound},
		Variants: []route.Variant{route.From(v(2), o.resourceClassShow, shown)},
	}, {
		ID: "resource-class-rename", Method: http.MethodPut, Path: single, Tag: tagClasses, Rule: policy.ClassesUpdate,
		Summary: "Rename a custom resource class", Checks: writesSince,
		Fails: []route.Failure{classNotFound, classNotRenamed, classNameTaken},
		Variants: []route.Variant{
			route.Write(v(2), route.Body[classPath]{Example: example}, o.resourceClassRename, shown),
			route.Until(v(7)),
		},
	}, {
		ID: "resource-class-ensure", Method: http.MethodPut, Path: single, Tag: tagClasses, Rule: policy.ClassesUpdate,
		Summary:     "Create a custom resource class unless it exists",
		Description: "A body is ignored.",
		Fails:       []route.Failure{invalidClassName},
		Variants: []route.Variant{route.From(v(7), o.resourceClassEnsure,
			route.Status(http.StatusCreated), route.SecondStatus("204", "The class existed."))},
	}, {
		ID: "resource-class-delete", Method: http.MethodDelete, Path: single, Tag: tagClasses, Rule: policy.ClassesDelete,
		Summary: "Delete a custom resource class", Checks: only,
		Fails:    []route.Failure{classNotFound, classNotDeleted, classInUse},
		Variants: []route.Variant{route.From(v(2), o.resourceClassDelete)},
	}}
}

func classLinks(ctx context.Context, name string) ResourceClass {
	return ResourceClass{Name: name, Links: []Link{{Rel: "self", Href: href(ctx, "/resource_classes/"+name)}}}
}

func (o *operations) resourceClassList(ctx context.Context, _ *none) (*cached[ResourceClasses], error) {
	found, err := o.store.ResourceClassList(ctx)
	if err != nil {
		return nil, err
	}
	classes := ResourceClasses{Classes: make([]ResourceClass, 0, len(found))}
	for _, class := range found {
		classes.Classes = append(classes.Classes, classLinks(ctx, class.Name))
	}
	return answer(ctx, classes, newest(found)), nil
}

func (o *operations) resourceClassShow(ctx context.Context, in *classPath) (*cached[ResourceClass], error) {
	modified, err := o.store.ResourceClassShow(ctx, in.Name)
	if err != nil {
		return nil, classFaults(in).Translate(err)
	}
	return answer(ctx, classLinks(ctx, in.Name), &modified), nil
}

func classFaults(in *classPath) route.RuleFaults {
	return route.RuleFaults{store.ClassNotFound: classNotFound.Fixed(in.Name)}
}

func (o *operations) resourceClassCreate(ctx context.Context, _ *none, body *ResourceClassName) (*locationResponse, error) {
	created, err := o.store.ResourceClassCreate(ctx, body.Name)
	if err != nil {
		return nil, err
	}
	if !created {
		return nil, classExists.Of(body.Name)
	}
	return &locationResponse{Location: location(ctx, "/resource_classes/"+body.Name)}, nil
}

func (o *operations) resourceClassRename(
	ctx context.Context, in *classPath, body *ResourceClassName,
) (*renamedClass, error) {
	if err := o.store.ResourceClassRename(ctx, in.Name, body.Name); err != nil {
		return nil, classFaults(in).With(route.RuleFaults{
			store.ClassStandard:  classNotRenamed.Fixed(in.Name),
			store.ClassNameTaken: classNameTaken.Fixed(body.Name),
		}).Translate(err)
	}
	return &renamedClass{Body: classLinks(ctx, body.Name)}, nil
}

// renamedClass is the response to a rename.
type renamedClass struct {
	Body ResourceClass
}

// className validates names in a path, which have no schema.
var className = sync.OnceValues(func() (*jsonbody.Validator, error) {
	return jsonbody.Compile([]byte(`{"type": "object", "properties": {
		"name": {"type": "string", "pattern": "`+customPattern+`", "maxLength": 255}}}`), "#")
})

// classEnsured is the response to the creation of a class that may already exist.
type classEnsured struct {
	Status   int
	Location string `header:"Location" doc:"URL of the class." example:"http://placement.example.org/resource_classes/CUSTOM_BAREMETAL_GOLD"`
}

func (o *operations) resourceClassEnsure(ctx context.Context, in *classPath) (*classEnsured, error) {
	rule, err := className()
	if err != nil {
		return nil, err
	}
	if err := rule.Validate(map[string]any{"name": in.Name}); err != nil {
		return nil, route.InvalidBody.Of(err)
	}
	created, err := o.store.ResourceClassCreate(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return &classEnsured{
		Status: ensuredStatus(created), Location: location(ctx, "/resource_classes/"+in.Name),
	}, nil
}

func (o *operations) resourceClassDelete(ctx context.Context, in *classPath) (*empty, error) {
	return nil, classFaults(in).With(route.RuleFaults{
		store.ClassStandard: classNotDeleted.Fixed(in.Name),
		store.ClassInUse:    classInUse.Fixed(in.Name),
	}).Translate(o.store.ResourceClassDelete(ctx, in.Name))
}
