/*
 * Runs a program whose kernel does not know PR_GET_AUXV, as before Linux 6.4.
 *
 * Valgrind hides the kernel's shared library (vDSO) from the program that it runs, and hides it in /proc/self/auxv too. But it passes
 * PR_GET_AUXV on to the kernel, which still tells the address. The crate rustix believes it and reads memory that is not there. Without
 * PR_GET_AUXV, it reads /proc/self/auxv.
 *
 *   without_auxv PROGRAM ARGUMENT...
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GET_AUXV 0x41555856

int main(int count, char **arguments)
{
	struct sock_filter filter[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_prctl, 0, 3),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, GET_AUXV, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
	if (count < 2) {
		fprintf(stderr, "usage: without_auxv PROGRAM ARGUMENT...\n");
		return 2;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("without_auxv");
		return 1;
	}
	execvp(arguments[1], arguments + 1);
	perror(arguments[1]);
	return 127;
}
