package run_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// shell is an interactive bash on a terminal of its own.
type shell struct {
	site     *site
	terminal *os.File
	output   output
	// seen is the part of the output that expect has read.
	seen int
}

// openShell starts bash with the function gpu, which runs `berth run` for one GPU.
func openShell(s *site) *shell {
	s.t.Helper()
	must := func(err error) {
		s.t.Helper()
		if err != nil {
			s.t.Fatal(err)
		}
	}
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	must(err)
	must(unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPTN)
	must(err)
	other, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	must(err)
	defer other.Close()
	program := s.command()
	s.file("rc", "PS1='READY '\ngpu() { "+program.Path+" run --resources PGPU=1 --lease 1h \"$@\"; }\n")
	bash := exec.Command("bash", "--noprofile", "--rcfile", s.path("rc"), "-i")
	bash.Env, bash.Dir = append(program.Env, "TERM=dumb"), s.directory
	bash.Stdin, bash.Stdout, bash.Stderr = other, other, other
	bash.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must(bash.Start())
	opened := &shell{site: s, terminal: terminal}
	read := make(chan struct{})
	go func() {
		_, _ = io.Copy(&opened.output, terminal) // an error at the end of the session
		close(read)
	}()
	s.t.Cleanup(func() {
		_ = bash.Process.Kill()
		_ = bash.Wait()
		terminal.Close()
		<-read
		if s.t.Failed() {
			s.t.Logf("the terminal showed %q", opened.output.String())
		}
	})
	opened.expect("READY ")
	return opened
}

// enter types a text.
func (s *shell) enter(text string) {
	s.site.t.Helper()
	if _, err := s.terminal.WriteString(text); err != nil {
		s.site.t.Fatal(err)
	}
}

// expect waits until the terminal shows a text that was not there before the call, and returns what is before it.
func (s *shell) expect(text string) (before string) {
	s.site.t.Helper()
	s.site.until(fmt.Sprintf("%q on the terminal", text), func() bool { return strings.Contains(s.output.String()[s.seen:], text) })
	shown := s.output.String()[s.seen:]
	at := strings.Index(shown, text)
	s.seen += at + len(text)
	return shown[:at]
}

func TestRun_OnTerminal_CommandReadsAndGetsInterruptOnce(t *testing.T) {
	t.Parallel()
	s := oneGPU(t)
	sh := openShell(s)
	sh.enter("gpu sh -c 'echo as''k; read x; echo go''t $x'\n")
	sh.expect("ask")
	sh.enter("hello\n")
	sh.expect("got hello")
	sh.expect("READY ")
	script := s.file("count.py", `import signal, time
count = [0]
def interrupted(number, frame):
    count[0] += 1
    print("interrupt", count[0], flush=True)
signal.signal(signal.SIGINT, interrupted)
print("rea" + "dy", flush=True)
while not count[0]:
    time.sleep(0.05)
time.sleep(1) # for another one
print("count", count[0], flush=True)
`)
	sh.enter("gpu python3 " + script + "\n")
	sh.expect("ready")
	sh.enter("\x03")
	sh.expect("count 1")
	sh.expect("READY ")
	s.expectFree()
}

func TestRun_OnTerminal_IsSuspendedAndContinued(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"gpu cat", "gpu cat | cat"} {
		s := oneGPU(t)
		sh := openShell(s)
		sh.enter(command + "\n")
		s.until("consumer", func() bool { return len(s.consumers()) == 1 })
		sh.enter("first\n")
		sh.expect("first") // what is typed
		sh.expect("first")
		sh.enter("\x1a")
		sh.expect("suspended: the place is lost unless it goes on within 1h")
		sh.expect("READY ")
		sh.enter("jobs\n")
		sh.expect("Stopped")
		sh.expect("READY ")
		sh.enter("fg\n")
		sh.expect("fg\r\n")
		sh.enter("second\n")
		sh.expect("second") // what is typed
		sh.expect("second")
		sh.enter("\x04")
		sh.expect("READY ")
		sh.enter("echo code $?\n")
		sh.expect("code 0")
		s.expectFree()
	}
}

func TestRun_InBackgroundOfTerminal_StopsUntilForeground(t *testing.T) {
	t.Parallel()
	s := oneGPU(t)
	sh := openShell(s)
	sh.enter("gpu cat &\n")
	sh.expect("suspended:")
	sh.enter("fg\n")
	sh.expect("fg\r\n")
	sh.enter("words\n")
	sh.expect("words") // what is typed
	sh.expect("words")
	sh.enter("\x04")
	sh.expect("READY ")
	s.expectFree()
}

func TestRun_StoppedByAnotherProcess_KeepsPlace(t *testing.T) {
	t.Parallel()
	s := oneGPU(t)
	j := s.start("--lease", "3s", "--", "sh", "-c", "kill -STOP $$; exit 4")
	s.until("consumer", func() bool { return len(s.consumers()) == 1 })
	first := s.consumers()[0].Lease.ExpiresAt
	s.until("renewals", func() bool { return s.consumers()[0].Lease.ExpiresAt.Sub(first).Seconds() > 4 })
	s.until("end of the command", func() bool {
		_ = j.command.Process.Signal(syscall.SIGCONT) // it has ended
		return len(s.consumers()) == 0
	})
	j.expect(4)
}
