package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/creack/pty"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

// hangUpAfter is how long a command on a terminal may go on after its client is gone. Else each leaves a shell, and
// after some thousands of terminals the machine has none left.
const hangUpAfter = 5 * time.Second

// ExecInContainer runs argv in the container's working folder and reports how it ended. Programs in the folder's bin are
// the container's own.
func (n *node) ExecInContainer(_ context.Context, folder, _, container string, argv []string, in io.Reader,
	out, errOut io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration,
) error {
	if len(argv) == 0 {
		return errors.New("no command")
	}
	program := argv[0]
	if own := filepath.Join(folder, container, "bin", filepath.Base(program)); isFile(own) {
		program = own
	}
	command := exec.CommandContext(n.life, program, argv[1:]...)
	command.Dir = filepath.Join(folder, container)
	if err := os.MkdirAll(command.Dir, 0o755); err != nil {
		return err
	}
	command.Env = append(os.Environ(), "HOSTNAME="+filepath.Base(folder), "TERM=xterm")
	if tty {
		return runOnTerminal(command, in, out, resize)
	}
	return run(command, in, out, errOut)
}

func isFile(path string) bool {
	found, err := os.Stat(path)
	return err == nil && found.Mode().IsRegular()
}

// AttachContainer behaves like a container whose main process is cat: what comes in goes out. Without input it
// follows the container's log.
func (n *node) AttachContainer(ctx context.Context, folder, uid, container string, in io.Reader,
	out, errOut io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize,
) error {
	if in != nil {
		return n.ExecInContainer(ctx, folder, uid, container, []string{"cat"}, in, out, errOut, tty, resize, 0)
	}
	return follow(n.life, filepath.Join(folder, container+".log"), out, true)
}

func run(command *exec.Cmd, in io.Reader, out, errOut io.Writer) error {
	command.Stdout, command.Stderr = out, errOut
	var stdin io.WriteCloser
	if in != nil {
		// A pipe of our own: Cmd.Stdin would make Wait wait for a client that keeps its end open.
		var err error
		if stdin, err = command.StdinPipe(); err != nil {
			return err
		}
	}
	if err := command.Start(); err != nil {
		return err
	}
	if stdin != nil {
		go func() {
			io.Copy(stdin, in)
			stdin.Close()
		}()
	}
	return exitStatus(command.Wait())
}

func runOnTerminal(command *exec.Cmd, in io.Reader, out io.Writer, resize <-chan remotecommand.TerminalSize) error {
	terminal, err := pty.Start(command)
	if err != nil {
		return err
	}
	defer terminal.Close()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for size := range resize {
			pty.Setsize(terminal, &pty.Winsize{Rows: size.Height, Cols: size.Width})
		}
	}()
	if in != nil {
		go func() {
			io.Copy(terminal, in)
			terminal.Write([]byte{4}) // end of transmission: a shell whose client is gone ends
			select {
			case <-ended:
			case <-time.After(hangUpAfter): // one that was busy has not read it: it gets SIGHUP
				terminal.Close()
			}
		}()
	}
	if out != nil {
		io.Copy(out, terminal) // ends with EIO when the last process lets go of the terminal
	}
	return exitStatus(command.Wait())
}

// exitStatus turns the end of a process into what the streaming library sends as the exit code: its status, or 128
// and the signal's number as a shell says it.
func exitStatus(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	code := exit.ExitCode()
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal())
	}
	return utilexec.CodeExitError{Err: err, Code: code}
}
