package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// DefaultBase returns the directory that contains the clusters of this account, one per major version: pg15, pg16 and
// so on. It returns an error if neither XDG_DATA_HOME nor HOME is set.
func DefaultBase(getenv func(string) string) (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/berth", nil
	}
	if data := getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, "berth"), nil
	}
	home := getenv("HOME")
	if home == "" {
		return "", errors.New("no directory for the database: set XDG_DATA_HOME or HOME")
	}
	return filepath.Join(home, ".local", "share", "berth"), nil
}

// locate determines the directory, the binaries and the account. The version of existing data determines its binaries,
// so that a newer PostgreSQL on the machine never hides it.
func locate(options Options) (home, error) {
	at := home{dir: options.Dir}
	if at.dir == "" {
		base, err := DefaultBase(options.Getenv)
		if err != nil {
			return home{}, err
		}
		if at.dir, err = newestCluster(base); err != nil {
			return home{}, err
		}
		if at.dir == "" {
			binaries, err := options.binaries(0)
			if err != nil {
				return home{}, err
			}
			at.dir = filepath.Join(base, "pg"+strconv.Itoa(binaries.Major))
		}
	}
	dir, err := filepath.Abs(at.dir)
	if err != nil {
		return home{}, err
	}
	at.dir = dir
	return at.equip(options)
}

// binaries returns the server programs for data of one major version, or for new data if major is 0. Programs in BinDir
// of another version than the data are an error.
func (o Options) binaries(major int) (Binaries, error) {
	if o.BinDir == "" {
		return Find(major)
	}
	found, err := BinariesIn(o.BinDir)
	if err == nil && major != 0 && found.Major != major {
		return Binaries{}, missing(major)
	}
	return found, err
}

// newestCluster returns the initialized cluster with the highest version in a base directory; empty if there is none.
func newestCluster(base string) (string, error) {
	entries, err := os.ReadDir(base)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("search for databases: %w", err)
	}
	newest, dir := 0, ""
	for _, entry := range entries {
		at := home{dir: filepath.Join(base, entry.Name())}
		major, err := at.dataMajor()
		if strings.HasPrefix(entry.Name(), "pg") && err == nil && major > newest {
			newest, dir = major, at.dir
		}
	}
	return dir, nil
}

// equip finds the binaries and the account for the directory.
func (h home) equip(options Options) (home, error) {
	major, err := h.dataMajor()
	if errors.Is(err, fs.ErrNotExist) {
		major, err = 0, nil
	}
	if err != nil {
		return home{}, err
	}
	if h.binaries, err = options.binaries(major); err != nil && options.Disposable {
		h.binaries, err = options.binaries(0)
	}
	if err != nil {
		return home{}, err
	}
	h.account, err = h.serverAccount()
	return h, err
}

// dataMajor returns the major version that created the data; 0 if there is none.
func (h home) dataMajor() (int, error) {
	text, err := os.ReadFile(h.majorFile())
	if err != nil {
		return 0, err
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("%s does not name a version: %q", h.majorFile(), text)
	}
	return major, nil
}

// serverAccount returns the account that runs the server: PostgreSQL refuses to run as root. Existing data keeps its
// owner, even if an account named postgres has been added to the machine since.
func (h home) serverAccount() (*user.User, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	if info, err := os.Stat(h.data()); err == nil {
		if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid != 0 {
			return accountOf(owner), nil
		}
	}
	for _, name := range []string{"postgres", "nobody"} {
		if account, err := user.Lookup(name); err == nil {
			return account, nil
		}
	}
	return nil, errors.New("PostgreSQL cannot run as root, and there is neither an account postgres nor nobody to run it")
}

// accountOf also supports owners without an entry in the account database.
func accountOf(owner *syscall.Stat_t) *user.User {
	return &user.User{
		Uid: strconv.FormatUint(uint64(owner.Uid), 10),
		Gid: strconv.FormatUint(uint64(owner.Gid), 10),
	}
}

// credential returns the credential of the server's processes; nil for that of this process.
func (h home) credential() (*syscall.Credential, error) {
	if h.account == nil {
		return nil, nil
	}
	uid, err := strconv.ParseUint(h.account.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("account %s: %w", h.account.Username, err)
	}
	gid, err := strconv.ParseUint(h.account.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("account %s: %w", h.account.Username, err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// own changes the owner of a directory to the account that runs the server.
func (h home) own(dir string) error {
	credential, err := h.credential()
	if err != nil || credential == nil {
		return err
	}
	return os.Chown(dir, int(credential.Uid), int(credential.Gid))
}

// make creates the home, private to this account. If another account runs the server, the home and all directories
// above it must be searchable for that account instead; the contents are private by themselves.
func (h home) make() error {
	credential, err := h.credential()
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o755)
	if credential == nil {
		mode = 0o700
	}
	if err := makeDirs(h.dir, mode); err != nil {
		return fmt.Errorf("create the directory of the database: %w", err)
	}
	if credential == nil {
		return nil
	}
	for dir := h.dir; dir != "/"; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if !searchable(info, credential) {
			return fmt.Errorf("the account that runs PostgreSQL (uid %d) cannot enter %s: "+
				"choose another directory for the database with --data-dir", credential.Uid, dir)
		}
	}
	return nil
}

// makeDirs is os.MkdirAll, except that the umask does not change the mode of new directories.
func makeDirs(dir string, mode fs.FileMode) error {
	err := os.Mkdir(dir, mode)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeDirs(filepath.Dir(dir), mode); err != nil {
			return err
		}
		err = os.Mkdir(dir, mode)
	}
	if errors.Is(err, fs.ErrExist) {
		if info, statErr := os.Stat(dir); statErr == nil && info.IsDir() {
			return nil
		}
	}
	if err != nil {
		return err
	}
	return os.Chmod(dir, mode)
}

func searchable(info fs.FileInfo, credential *syscall.Credential) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case ok && owner.Uid == credential.Uid:
		return info.Mode().Perm()&0o100 != 0
	case ok && owner.Gid == credential.Gid:
		return info.Mode().Perm()&0o010 != 0
	default:
		return info.Mode().Perm()&0o001 != 0
	}
}
