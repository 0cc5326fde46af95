/* Groups: one message of a group at a time, in the order of their pushes.
 *
 * The rows of one group, at READ COMMITTED: a transaction sees what is committed when each of its statements begins,
 * and what it wrote itself. A row that another transaction has locked is skipped (SKIP LOCKED), or waited for and then
 * judged as it is by then. Who would wait
 * may be undone instead, as the victim of a deadlock is, and begins again.
 *
 * Row 0 is pushed alone, the others in one batch, so that all but the batch's first begin behind it. The transactions
 * of the pushes may overlap in either order. Time is what `clock` does: it ends any lease, at any moment.
 */
#ifndef ROWS
#define ROWS 3
#endif
#ifndef CONSUMERS
#define CONSUMERS 2
#endif
#ifndef CHANGES
#define CHANGES 1	/* what operators do, in all */
#endif
#define NONE 255
#define OPERATOR (CONSUMERS + 1)

typedef Row {
	bit live;	/* status is new or error */
	bit dead;
	bit in_line;	/* due_at is set; a live row that is not in line is behind: behind_at is set */
	bit leased;	/* leased_by is set */
	byte token	/* told apart only by who has the receipt that matches it; 0: nobody */
}
Row row[ROWS];		/* as committed */
Row draft[ROWS];	/* as the transaction that holds the lock has written it */
bit lapsed[ROWS];	/* the lease has ended: the due time, which is its end, is past */
byte lock[ROWS];	/* the transaction that holds the row for writing; 0: none */
byte share[ROWS];	/* the transactions that hold it so that nobody writes it, as bits */
byte earlier[ROWS];	/* for the property: the rows that were committed when this one was pushed, as bits */
byte pushed;		/* committed pushes */
byte changes = CHANGES;

#define sees(i, me, field) (lock[i] == me -> draft[i].field : row[i].field)
#define is_due(i, me) (sees(i, me, live) && sees(i, me, in_line) && (!sees(i, me, leased) || lapsed[i]))
#define shared_by_others(i, me) (share[i] & ~(1 << me))
#define is_open(i, me) ((lock[i] == 0 || lock[i] == me) && shared_by_others(i, me) == 0)
#define of_others(i, me) (lock[i] != 0 && lock[i] != me)

#if ROWS == 3
#define any_row(of) (of(0) || of(1) || of(2))
#define all_rows(are) (are(0) && are(1) && are(2))
#else
#define any_row(of) (of(0) || of(1) || of(2) || of(3))
#define all_rows(are) (are(0) && are(1) && are(2) && are(3))
#endif
#define is_claimable(i) (is_due(i, me) && is_open(i, me))
#define is_over(i) (!row[i].live && lock[i] == 0)
#define all_over (pushed == ROWS && changes == 0 && all_rows(is_over))

inline copy(to, from) {
	to.live = from.live; to.dead = from.dead; to.in_line = from.in_line; to.leased = from.leased; to.token = from.token
}

inline hold(i) {	/* only of an open row */
	if
	:: lock[i] == me -> skip
	:: else -> lock[i] = me; copy(draft[i], row[i])
	fi
}

inline wait_for(i) {	/* and hold it; who waits may be undone, as a deadlock's victim is, or after too long a wait */
	if
	:: is_open(i, me) -> hold(i)
	:: !is_open(i, me) -> undone = true
	:: !is_open(i, me) ->
		if
		:: is_open(i, me) -> hold(i)	/* others go on meanwhile */
		:: timeout -> undone = true
		fi
	fi
}

inline end_transaction(commits) {
	d_step {
		k = 0;
		do
		:: k < ROWS ->
			if
			:: lock[k] == me ->
				if
				:: commits -> copy(row[k], draft[k]); row[k].leased = row[k].leased && row[k].live
				:: else -> skip
				fi;
				lock[k] = 0;
				draft[k].live = 0; draft[k].dead = 0; draft[k].in_line = 0; draft[k].leased = 0;
				draft[k].token = 0
			:: else -> skip
			fi;
			share[k] = share[k] & ~(1 << me);
			k++
		:: else -> break
		od;
		k = 0
	}
}

/* Put the first row of the group that is not leased in line: of those that the statement's snapshot shows, the first
 * that is still there when nobody else holds it. */
inline promote_next() {
	d_step {
		k = 0;
		do
#ifdef BROKEN_PROMOTES_FIRST_OR_NONE
		:: k < ROWS && sees(k, me, live) && shown == 0 -> shown = 1 << k; k++
		:: k < ROWS && !(sees(k, me, live) && shown == 0) -> k++
#else
		:: k < ROWS && sees(k, me, live) && !sees(k, me, leased) -> shown = shown | (1 << k); k++
		:: k < ROWS && !(sees(k, me, live) && !sees(k, me, leased)) -> k++
#endif
		:: else -> break
		od;
		k = 0; first = 0
	}
	do
	:: undone || first == ROWS -> break
	:: !undone && first < ROWS && (!(shown & (1 << first)) || sees(first, me, leased)) -> first++
	:: !undone && first < ROWS && (shown & (1 << first)) && !sees(first, me, leased) ->
		wait_for(first);
		if
		:: !undone && draft[first].live && !draft[first].leased -> draft[first].in_line = 1; break
#ifdef BROKEN_PROMOTES_NONE_IF_GONE
		:: else -> break
#else
		:: else -> first++
#endif
		fi
	od;
	first = 0; shown = 0
}

inline check_order(i) {
	d_step {
		k = 0;
		do
		:: k < ROWS -> assert(!(k != i && row[k].live && (earlier[i] & (1 << k)))); k++
		:: else -> break
		od;
		k = 0
	}
}

inline check_alone(i) {
	d_step {
		k = 0;
		do
		:: k < ROWS -> assert(!(k != i && row[k].live && row[k].leased && !lapsed[k])); k++
		:: else -> break
		od;
		k = 0
	}
}

/* Lock the due rows that are open. */
inline pick() {
	d_step {
		k = 0;
		do
		:: k < ROWS ->
			if
			:: is_due(k, me) && is_open(k, me) -> hold(k); picked = picked | (1 << k)
			:: else -> skip
			fi;
			k++
		:: else -> break
		od;
		k = 0
	}
}

/* Of the rows that are held, `turn` is the first whose turn it is, and `waiting` are to be put behind others. */
inline judge_picked() {
	d_step {
		k = 0;
		do
		:: k < ROWS && !(picked & (1 << k)) -> k++
		:: k < ROWS && (picked & (1 << k)) ->
			j = 0; blocked = false; kept = false;
			do
			:: j < ROWS ->
				if
				:: j != k && ((j < k && sees(j, me, live)) || sees(j, me, leased)) ->
					blocked = true;
					if
#ifdef BROKEN_NO_SHARE_LOCK
					:: true -> kept = true
#else
					:: !of_others(j, me) -> share[j] = share[j] | (1 << me); kept = true
					:: else -> skip	/* it is being settled: this one is left where it is, and met again */
#endif
					fi
				:: else -> skip
				fi;
				j++
			:: else -> break
			od;
			if
			:: !blocked && turn == NONE -> turn = k
			:: blocked && kept -> waiting = waiting | (1 << k)
			:: else -> skip
			fi;
			k++
		:: k == ROWS -> break
		od;
		k = 0; j = 0; blocked = false; kept = false; picked = 0
	}
}

inline put_behind() {
	d_step {
		k = 0;
		do
		:: k < ROWS ->
			if
			:: waiting & (1 << k) ->
				draft[k].in_line = 0;
				if
				:: draft[k].leased ->
					was_lent = true; draft[k].leased = 0;
#ifndef BROKEN_BEHIND_KEEPS_TOKEN
					draft[k].token = 0
#endif
				:: else -> skip
				fi
			:: else -> skip
			fi;
			k++
		:: else -> break
		od;
		k = 0; waiting = 0
	}
}

/* Set leased_by; the unique index waits for whoever writes another row of the group that is or becomes leased. */
#define is_in_doubt(j) (j != turn && of_others(j, me) && (row[j].leased || draft[j].leased))
#define is_lent_beside(j) (j != turn && sees(j, me, leased))
inline mark() {
#ifdef BROKEN_NO_TURN_INDEX
	draft[turn].leased = 1
#else
	if
	:: atomic { !any_row(is_in_doubt) ->
		if
		:: any_row(is_lent_beside) -> undone = true
		:: else -> draft[turn].leased = 1
		fi }
	:: any_row(is_in_doubt) -> undone = true
	fi
#endif
}

/* Each `atomic` is one statement of SQL, with what its transaction does next without the database. */
proctype consumer(byte me; bit pops) {
	byte mine = NONE, turn = NONE, k, j, first, shown, picked, waiting;
	bit undone, was_lent, blocked, kept;
idle:
	atomic {
		if
		:: all_over -> goto stop
		:: mine == NONE && any_row(is_claimable) -> pick(); goto judge
		:: mine != NONE && lapsed[mine] -> mine = NONE; goto idle	/* it was killed at some time before */
		:: mine != NONE && lapsed[mine] -> goto extend
		:: mine != NONE -> goto settle
		fi
	}
judge:
	atomic {
		judge_picked();
		if
		:: waiting ->
			put_behind();
			if
			:: was_lent -> was_lent = false; goto recall
			:: !was_lent && turn == NONE -> goto again
			:: !was_lent && turn != NONE -> goto lend
			fi
		:: !waiting && turn == NONE -> goto finish
		:: !waiting && turn != NONE -> goto lend
		fi
	}
recall:
	atomic {
		promote_next();
		if
		:: undone -> goto finish
		:: !undone && turn == NONE -> goto again
		:: !undone && turn != NONE -> goto lend
		fi
	}
again:
	atomic { pick(); goto judge }
lend:
	atomic {
		if
		:: !pops && draft[turn].leased ->	/* a lease ended, and the attempts are used up */
			draft[turn].live = 0; draft[turn].dead = 1; draft[turn].leased = 0; draft[turn].in_line = 0;
			draft[turn].token = 0;
			goto promote
		:: true ->
#ifdef BROKEN_POP_UNMARKED
			if :: !pops -> mark() :: pops -> skip fi;
#else
			mark();
#endif
			if
			:: undone -> goto finish
			:: !undone && pops -> goto take
			:: !undone && !pops -> draft[turn].token = me; goto lent
			fi
		fi
	}
lent:
	atomic {
		mine = turn;
		check_alone(turn); check_order(turn);
		lapsed[turn] = 0;
		goto finish
	}
take:
	atomic {
		check_alone(turn); check_order(turn);
		draft[turn].live = 0; draft[turn].in_line = 0;	/* others who would be leased wait until it has gone */
		goto promote
	}
extend:	/* however late: the token alone decides */
	atomic {
		wait_for(mine);
		if
		:: !undone && draft[mine].token == me && draft[mine].live ->
			check_alone(mine); draft[mine].in_line = 1; lapsed[mine] = 0
		:: !undone && !(draft[mine].token == me && draft[mine].live) -> mine = NONE
		:: undone -> skip
		fi;
		goto finish
	}
settle:
	atomic {
		wait_for(mine);
		if
		:: !undone && draft[mine].token == me && draft[mine].live ->
			if
			:: draft[mine].live = 0	/* commit, or move elsewhere */
			:: draft[mine].in_line = 1	/* roll back */
			:: draft[mine].live = 0; draft[mine].dead = 1	/* bury */
			fi;
			draft[mine].leased = 0; draft[mine].token = 0;
#ifdef BROKEN_NO_PROMOTION
			mine = NONE; goto finish
#else
			goto promote
#endif
		:: !undone && !(draft[mine].token == me && draft[mine].live) -> mine = NONE; goto finish	/* refused */
		:: undone -> goto finish	/* and settled again */
		fi
	}
promote:
	atomic {
		promote_next();
		if
		:: !undone -> mine = NONE
		:: else -> skip
		fi;
		goto finish
	}
finish:
	atomic {
		end_transaction(!undone);
		undone = false; turn = NONE; was_lent = false; waiting = 0;
		goto idle
	}
stop:	skip
}

proctype operator(byte me) {	/* remove a message, change its due time, or let a dead one live again */
	byte i, k, first, shown;
	bit undone;
next:
	atomic {
		if
		:: changes == 0 -> goto stop
		:: changes > 0 -> select(i : 0 .. ROWS - 1)
		fi;
		if
		:: row[i].live || row[i].dead -> goto change
		:: else -> i = 0; changes--; goto next
		fi
	}
change:
	atomic {
		wait_for(i);
		if
		:: !undone && draft[i].live && !(draft[i].leased && !lapsed[i]) ->
			if
			:: draft[i].live = 0	/* remove */
			:: draft[i].in_line = 1	/* reschedule: due now */
			fi;
			draft[i].leased = 0; draft[i].token = 0
		:: !undone && draft[i].dead ->	/* requeue: from here on it may come after what was pushed later */
			draft[i].live = 1; draft[i].dead = 0; draft[i].in_line = 1; draft[i].token = 0;
			k = 0;
			do
			:: k < ROWS -> earlier[k] = earlier[k] & ~(1 << i); k++
			:: else -> break
			od;
			k = 0
		:: else -> goto finish
		fi
	}
	atomic { promote_next() }
finish:
	atomic {
		end_transaction(!undone);
		if
		:: undone -> undone = false
		:: else -> changes--
		fi;
		i = 0;
		goto next
	}
stop:	skip
}

proctype producer(byte first, last) {	/* pushes rows in one transaction: visible all at once, when it commits */
	byte i = first;
	d_step {	/* it begins: what is committed by now goes before it, and in a batch each goes before the next */
		do
		:: i <= last ->
			if
			:: i == first && first == 1 -> earlier[i] = row[0].live
			:: i == first && first == 2 -> earlier[i] = row[0].live | (row[1].live << 1)
			:: i > first -> earlier[i] = earlier[i - 1] | (1 << (i - 1))
			:: else -> skip
			fi;
			i++
		:: else -> break
		od;
		i = first
	}
	d_step {	/* it commits: all but the first of a batch begin behind it */
		do
		:: i <= last -> row[i].live = 1; row[i].in_line = (i == first); pushed++; i++
		:: else -> break
		od
	}
}

#ifndef NO_LEASE_ENDS
active proctype clock() {
	do
	:: all_over -> break
	:: row[0].leased && !lapsed[0] -> lapsed[0] = 1
	:: row[1].leased && !lapsed[1] -> lapsed[1] = 1
	:: row[2].leased && !lapsed[2] -> lapsed[2] = 1
#if ROWS > 3
	:: row[3].leased && !lapsed[3] -> lapsed[3] = 1
#endif
	od
}
#endif

init {
	atomic {
#ifdef BATCH
		run producer(0, 0);
		run producer(1, ROWS - 1);
#else
		run producer(0, 0);
		run producer(1, 1);
		run producer(2, ROWS - 1);
#endif
		run operator(OPERATOR);
		run consumer(1, 0);
#ifdef POPS
		run consumer(2, 1)
#else
		run consumer(2, 0)
#endif
	}
}
