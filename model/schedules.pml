/* Schedules: each tick becomes one message, however many processes look at the same time.
 *
 * A process reads the schedule's row, and then, in one transaction, advances the row if its version is still the one
 * that was read, and pushes the ticks in between. Someone declares the schedule again meanwhile.
 */
#ifndef PROCESSES
#define PROCESSES 2
#endif
#define TICKS 3

byte now, next = 1, version;
byte pushed[TICKS + 1];
bit declared, missed[TICKS + 1];

proctype ticker() {
	byte seen_next, seen_version, until;
	do
	:: atomic { next > TICKS -> break }
	:: atomic { next <= now -> seen_next = next; seen_version = version; until = now };	/* one statement reads it */
#ifdef BROKEN_PUSH_OUTSIDE
		d_step { do :: seen_next <= until -> pushed[seen_next]++; seen_next++ :: else -> break od }
		atomic { if :: version == seen_version -> next = seen_next; version++ :: else -> skip fi }
#else
		atomic {	/* one transaction; killed before it commits, nothing has happened */
			if
			:: skip	/* killed */
#ifdef BROKEN_NO_VERSION
			:: true ->
#else
			:: version == seen_version ->
#endif
				version++;
				do :: seen_next <= until -> pushed[seen_next]++; seen_next++ :: else -> break od;
				next = seen_next
			:: version != seen_version -> skip	/* somebody else was first */
			fi
		}
#endif
		atomic { seen_next = 0; seen_version = 0; until = 0 }
	od
}

proctype declarer() {	/* a program declares it anew: the same rhythm keeps the pending tick */
	byte seen_next, seen_version;
	atomic { seen_next = next; seen_version = version }
	atomic {
		if
		:: version == seen_version -> version++; next = seen_next
		:: else -> skip	/* reads it again, as it does here by doing nothing */
		fi;
		declared = 1
	}
}

active proctype clock() {
	do
	:: now < TICKS -> now++
	:: now == TICKS -> break
	od
}

#define once(t) (pushed[t] <= 1)
#define none_skipped(t) (next <= t || pushed[t] == 1)

init {
	atomic {
		run declarer(); run ticker(); run ticker();
#if PROCESSES > 2
		run ticker()
#endif
	}
	do
	:: atomic { !(once(1) && once(2) && once(3)) -> assert(false) }
	:: atomic { !(none_skipped(1) && none_skipped(2) && none_skipped(3)) -> assert(false) }
	:: next > TICKS && declared -> break
	od
}
