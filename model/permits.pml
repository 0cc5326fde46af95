/* Permits: no two workers use one at the same time, although each goes by a clock of its own.
 *
 * A permit is a lease on a row. The database ends it LEASE after it was written; the worker counts from the moment
 * before it asked, so it stops first, however long the answer takes. Time is counted down and up, so it never ends:
 * `left` until the lease ends in the database, `age` since a worker asked. Each worker looks at its permit at moments
 * of its own, at the latest when its lease ends.
 *
 * With PROGRESS, answers come too late and workers are killed only so often: then the permit is used again and again.
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#define LEASE 3
#define NOBODY 0

byte owner;		/* whose token matches */
byte left;		/* units of time for which the database lends it to nobody else; 0: its lease has ended */
bit uses[WORKERS + 1];	/* the worker lets its handlers start */
bit asks[WORKERS + 1];	/* it waits for an answer */
byte age[WORKERS + 1];	/* units of time since it asked for what it has, or waits for */
bit late[WORKERS + 1];	/* it looks one unit of time too late */

#ifdef PROGRESS
byte troubles = 2;	/* answers that come too late, and workers that are killed */
#define may_fail (troubles > 0)
#define fails troubles--
#define may_wait(w) (!asks[w] || age[w] + 1 < LEASE)
#else
#define may_fail true
#define fails skip
#define may_wait(w) true
#endif

#define used_by_two (uses[1] && uses[2])
#define may_pass(w) (!uses[w] || age[w] < LEASE + late[w])
#define ages(w) age[w] = (age[w] <= LEASE -> age[w] + 1 : age[w])
#ifdef BROKEN_KEEPS_DEAD_PERMITS
#define is_free (owner == NOBODY)
#else
#define is_free (left == 0 || owner == NOBODY)
#endif

proctype worker(byte me) {
	bit held;
	do
	:: atomic { !held -> age[me] = 0; asks[me] = 1 };	/* asks for the permit */
		if
		:: atomic { is_free -> left = LEASE + 1; owner = me; held = true }	/* lent, some time later */
		:: atomic { !is_free -> held = false }
		fi;
		atomic {	/* the answer comes, some time later */
			if
#ifdef BROKEN_COUNTS_FROM_THE_ANSWER
			:: held -> age[me] = 0; uses[me] = 1
#else
			:: held && age[me] < LEASE -> uses[me] = 1
			:: held && age[me] >= LEASE -> held = false; age[me] = 0
#endif
			:: !held -> age[me] = 0
			fi;
			asks[me] = 0
		}
	:: atomic { held && age[me] < LEASE ->	/* asks for a longer lease; an outage answers nothing */
		if
		:: owner == me -> left = LEASE + 1; age[me] = 0
		:: owner != me -> assert(false)	/* while it counts on it, nobody else has got it */
#ifdef BROKEN_LOOKS_TOO_LATE
		:: true -> late[me] = 1	/* the store is away: it waits for the next try */
#endif
		fi }
	:: atomic { held && age[me] >= LEASE -> held = false; uses[me] = 0; age[me] = 0; late[me] = 0 }
	:: atomic { held && owner == me -> held = false; uses[me] = 0; age[me] = 0; late[me] = 0;	/* gives it back */
		left = 0; owner = NOBODY }
	:: atomic { held && may_fail -> fails; held = false; uses[me] = 0; age[me] = 0; late[me] = 0 }	/* killed */
	od
}

active proctype clock() {
	do
	:: atomic { may_pass(1) && may_pass(2) && may_wait(1) && may_wait(2) ->
		left = (left > 0 -> left - 1 : 0); ages(1); ages(2); assert(!used_by_two) }
#ifdef PROGRESS
	:: atomic { may_pass(1) && may_pass(2) && may_fail && (!may_wait(1) || !may_wait(2)) ->
		fails; left = (left > 0 -> left - 1 : 0); ages(1); ages(2) }
#endif
	od
}

init {
	atomic { run worker(1); run worker(2) }
end:	do
	:: atomic { used_by_two -> assert(false) }
	od
}

#ifdef PROGRESS
ltl progress { [] <> (uses[1] || uses[2]) }
#endif
