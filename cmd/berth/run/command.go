package run

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/apicommand"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
)

// Exit codes besides those of the command and of package frame. The first three are those of sysexits.h, the others those of
// shells.
const (
	ExitUnavailable   = 69
	ExitLost          = 73
	ExitNothingFits   = 75
	ExitNotExecutable = 126
	ExitNotFound      = 127
	exitSignal        = 128 // plus the number of the signal
)

// The values of --on-lost.
const (
	lostStop = "stop"
	lostKeep = "keep"
)

// options holds the flags of `berth run`.
type options struct {
	queries             *apicommand.ClaimQueries
	project, user, kind string
	lease, until, lasts string
	here, anywhere      bool
	host                string
	wait                time.Duration
	onLost, envFile     string
	root                string
}

const help = `Find a place, claim it, run a command there, and give the place back when the command ends.
The flags of the query are those of 'berth claim'; --else begins another query, which is used
if the queries before it find no place. Flags end at the first argument or at --.

On a host with a provider tree (a root provider with the name of the host) the place is in
this tree, as with --here. Elsewhere, and with --anywhere, it is in any tree, and the command
still runs on this computer.

The place belongs to a new consumer, which is removed after --lease unless this command
renews the lease: it does so each third of it. With --until or --for, the command is stopped
in time: SIGTERM, and SIGKILL 10 seconds later. The same happens if the place is lost.

Variables of the command: BERTH_CONSUMER; BERTH_CLAIM, a file with the JSON object of 'berth
claim'; BERTH_HOST, the root provider; BERTH_PROVIDERS, their names separated by spaces; and
for each resource class the amount, such as BERTH_PGPU. On a host whose GPUs 'berth agent'
reports, CUDA_VISIBLE_DEVICES, NVIDIA_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES name those of
the claim, and none for a claim without GPUs.

The command has its own process group, which gets the signals of this command. What it
leaves behind in this group is stopped before the place is given back.

The server needs berth 1.6.

Exit codes: that of the command, or 128 and the number of the signal that ended it; 1 failed,
2 a flag is invalid, 69 the server is not available, 73 the place was lost, 75 nothing fits,
126 the command cannot be executed, 127 it is not found.`

// Command returns `berth run`.
func Command(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARGUMENT]...",
		Short: "Run a command at a place that is claimed for it",
		Long:  help,
		Example: `  berth run --resources PGPU=1 --wait 1h -- python3 train.py --epochs 3
  berth run --resources PGPU=2 --can-split PGPU --else --resources PGPU=1 -- ./train.sh
  berth run --resources PCPU=4,MEMORY_MB=16GiB --for 2h -- make -j4`,
		Args: cobra.ArbitraryArgs,
	}
	chosen := &options{}
	chosen.flags(f, command)
	connect.Flags(f, command)
	command.Flags().SetInterspersed(false)
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, arguments []string) error {
		if err := chosen.check(arguments); err != nil {
			return err
		}
		program, err := lookUp(arguments[0])
		if err != nil {
			return err
		}
		job := &run{Frame: f, service: service, options: chosen, program: program, line: arguments, started: time.Now()}
		return job.execute(ctx)
	})
	return command
}

func (o *options) flags(f *frame.Frame, c *cobra.Command) {
	o.queries = apicommand.NewClaimQueries(f, c)
	flags := c.Flags()
	flags.SortFlags = false
	o.queries.HideLimits(c)
	flags.BoolVar(&o.here, "here", false, "whether the place is in the tree of this host (default: if it has one)")
	flags.BoolVar(&o.anywhere, "anywhere", false, "whether the place is in any tree, also on a host with a tree")
	flags.StringVar(&o.host, "host", "", "`name` of the root provider of this host; implies --here (default: the host name)")
	flags.DurationVar(&o.wait, "wait", 0, "maximum `time` until a place is found, also while the server is not available; 0 means one attempt")
	flags.StringVar(&o.lease, "lease", "1m", "`duration` after which the place is free if this command is killed")
	flags.StringVar(&o.until, "until", "", "`time` at which the command is stopped: 18:00, today or tomorrow in local time, or such as 2026-11-27T18:00:00Z")
	flags.StringVar(&o.lasts, "for", "", "`duration` after which the command is stopped, such as 2h")
	flags.StringVar(&o.onLost, "on-lost", lostStop, "`action` when the place is lost: stop the command, or keep it running")
	flags.StringVar(&o.envFile, "env-file", "", "`file` for the variables of the command, as a shell script that exports them (default: none)")
	flags.StringVar(&o.project, "project", "", "project `ID` of the consumer (default: that of Keystone's token, else the name of the account)")
	flags.StringVar(&o.user, "user", "", "user `ID` of the consumer (default: that of Keystone's token, else the name of the account)")
	flags.StringVar(&o.kind, "type", "JOB", "`type` of the consumer")
	flags.StringVar(&o.root, "root", "/", "root `directory` of the host's file system, for the GPUs in /proc and /sys; in containers often /host")
	frame.CompleteChoices(c, "on-lost", lostStop, lostKeep)
	for _, name := range []string{"wait", "lease", "until", "for", "project", "user"} {
		frame.CompleteChoices(c, name)
	}
	frame.CompleteChoices(c, "type", "JOB")
}

// check validates the flags before any request.
func (o *options) check(arguments []string) error {
	if err := o.queries.Check(); err != nil {
		return err
	}
	switch {
	case len(arguments) == 0 || arguments[0] == "":
		return frame.WrongArgument("command", "", "is missing", "write the command after --, such as 'berth run --resources PGPU=1 -- python3 train.py'")
	case o.here && o.anywhere:
		return frame.WrongFlag("anywhere", "true", "conflicts with --here", "omit one of them")
	case o.host != "" && o.anywhere:
		return frame.WrongFlag("host", o.host, "conflicts with --anywhere", "omit one of them")
	case o.wait < 0:
		return frame.WrongFlag("wait", o.wait.String(), "is negative", "write a duration such as 10m, or 0 for one attempt")
	case o.onLost != lostStop && o.onLost != lostKeep:
		return frame.WrongFlag("on-lost", o.onLost, "is not one of the choices", "write stop or keep")
	case o.kind == "":
		return frame.WrongFlag("type", "", "is empty", "write the type of the consumer, such as JOB")
	case o.isHere() && o.queries.Asked.InTree != "":
		return frame.WrongFlag("in-tree", o.queries.Asked.InTree, "conflicts with --here and --host", "omit one of them")
	}
	_, err := apicommand.RenewedLease(o.lease, o.until, o.lasts, time.Now())
	return err
}

// isHere reports whether the flags require a place on this host.
func (o *options) isHere() bool { return o.here || o.host != "" }

// lookUp returns the path of a program, before anything is claimed for it.
func lookUp(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	code := ExitNotExecutable
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) || errors.Is(err, exec.ErrDot) {
		code = ExitNotFound
	}
	return "", &frame.CodedError{Code: code, Cause: err}
}

// hostName returns the name of the root provider of this host.
func (o *options) hostName() (string, error) {
	if o.host != "" {
		return o.host, nil
	}
	return os.Hostname()
}
