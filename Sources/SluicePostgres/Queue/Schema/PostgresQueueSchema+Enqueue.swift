#if PostgreSQL
extension PostgresQueueSchema {
    /// Requests that become jobs or members.
    static let enqueueFunctions = [
        // Writes the ranks, states, charges and lines of unfinished jobs whose members have changed. The jobs have left their lines before.
        // Returns the events.
        """
        CREATE FUNCTION members_changed(p_queue int8, p_jobs int8[]) RETURNS draft[] LANGUAGE plpgsql AS $$
        DECLARE
            v_drafts draft[];
            v_job record;
            v_user text;
        BEGIN
            WITH now AS MATERIALIZED (
                SELECT job.queue, job.id, job.state AS old, member.rank,
                    -- A paused job with a delay waits for the rest of it.
                    CASE WHEN job.state = 1 THEN 1 WHEN member.are_paused THEN 6 WHEN not_before IS NULL THEN 0 ELSE 5 END AS state
                FROM unnest(p_jobs) AS changing (id) \(job("changing.id")) CROSS JOIN LATERAL (
                    SELECT min(~priority) AS rank, bool_and(is_paused) AS are_paused FROM member
                    WHERE member.queue = p_queue AND member.job = job.id) AS member),
            changed AS (
                UPDATE job SET rank = now.rank, state = now.state FROM now
                    WHERE job.queue = now.queue AND job.id = now.id AND (job.rank, job.state) <> (now.rank, now.state)
                    RETURNING job.id, job.state, now.old)
            SELECT array_agg(ROW(id, 1000000, CASE state WHEN 6 THEN 'paused' ELSE 'resumed' END, '', '')::draft)
                INTO v_drafts FROM changed WHERE (state = 6) <> (old = 6);
            PERFORM join_lines(p_queue, p_jobs);
            -- A running job whose charged member has left is charged to the user with the fewest running jobs.
            FOR v_job IN SELECT job.id, charged FROM unnest(p_jobs) AS changed (id) \(job("changed.id"))
                WHERE state = 1 AND NOT is_cancelled ORDER BY job.id
            LOOP
                SELECT user_name INTO v_user FROM member
                    WHERE queue = p_queue AND job = v_job.id AND NOT is_paused
                    ORDER BY user_name <> v_job.charged, coalesce((SELECT number FROM running
                        WHERE running.queue = p_queue AND kind = 2 AND name = user_name), 0), position LIMIT 1;
                IF FOUND AND v_user <> v_job.charged THEN
                    UPDATE job SET charged = v_user WHERE queue = p_queue AND id = v_job.id;
                    PERFORM count_running(p_queue, '{}', ARRAY[v_job.charged], -1);
                    PERFORM count_running(p_queue, '{}', ARRAY[v_user], 1);
                END IF;
            END LOOP;
            RETURN v_drafts;
        END $$
        """,
        // Adds a member to each job. One of the same user and batch gets the higher priority and is resumed instead.
        """
        CREATE FUNCTION join_members(p_queue int8, p_batch text, p_jobs int8[], p_users text[], p_priorities int8[])
        RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            WITH request AS MATERIALIZED (
                SELECT p_queue AS queue, * FROM unnest(p_jobs, p_users, p_priorities) AS request (job, user_name, priority))
            UPDATE member SET priority = greatest(member.priority, request.priority), is_paused = false FROM request
                WHERE member.queue = request.queue AND member.job = request.job AND member.user_name = request.user_name
                    AND batch || '' = p_batch AND (member.priority < request.priority OR is_paused);
            INSERT INTO member (queue, job, position, user_name, batch, priority)
                SELECT p_queue, job, (SELECT coalesce(max(position), -1) + 1 FROM member
                        WHERE member.queue = p_queue AND member.job = request.job), user_name, p_batch, priority
                FROM unnest(p_jobs, p_users, p_priorities) AS request (job, user_name, priority)
                WHERE (SELECT count(*) FROM member WHERE member.queue = p_queue AND member.job = request.job
                    AND member.user_name = request.user_name AND member.batch || '' = p_batch) = 0;
        END $$
        """,
        // Adds members to unfinished jobs. No other request of the call is for one of these jobs.
        """
        CREATE FUNCTION join_jobs(
            p_queue int8, p_now int8, p_batch text, p_jobs int8[], p_users text[], p_priorities int8[]
        ) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            -- Members that join leave the jobs in the lines of the others, at the same position unless the priority rises.
            PERFORM leave_lines(p_queue, array_agg(id)) FROM unnest(p_jobs, p_priorities) AS request (job, priority)
                \(job("request.job")) WHERE ~request.priority < rank;
            INSERT INTO event (queue, number, time, job, kind, user_name, batch)
                SELECT p_queue, last.number + position, p_now, job, 'joined', user_name, p_batch
                FROM unnest(p_jobs, p_users) WITH ORDINALITY AS request (job, user_name, position),
                    (SELECT coalesce(max(number), 0) AS number FROM event WHERE queue = p_queue) AS last;
            PERFORM join_members(p_queue, p_batch, p_jobs, p_users, p_priorities);
            PERFORM record_all(p_queue, p_now, members_changed(p_queue, p_jobs));
        END $$
        """,
        // Deletes ended jobs.
        """
        CREATE FUNCTION delete_jobs(p_queue int8, p_jobs int8[]) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            WITH gone AS MATERIALIZED (SELECT p_queue AS queue, id FROM unnest(p_jobs) AS gone (id))
            DELETE FROM member USING gone WHERE member.queue = gone.queue AND member.job = gone.id;
            WITH gone AS MATERIALIZED (SELECT p_queue AS queue, id FROM unnest(p_jobs) AS gone (id))
            DELETE FROM job USING gone WHERE job.queue = gone.queue AND job.id = gone.id;
        END $$
        """,
        // Adds one request as the job p_new, or to another job. The outcomes: 0 added, 1 joined, 2 kept, 3 conflict.
        """
        CREATE FUNCTION enqueue_one(
            p_queue int8, p_now int8, p_batch text, p_keeps_finished bool, p_new int8, p_url text, p_directory text,
            p_name text, p_target bytea, p_host text, p_place text, p_is_unresolved bool, p_user text, p_priority int8,
            OUT id int8, OUT outcome int8, OUT other text
        ) LANGUAGE plpgsql AS $$
        #variable_conflict use_column
        DECLARE
            v_state int8;
            v_is_cancelled bool;
        BEGIN
            outcome := 3;
            SELECT job.id, url INTO id, other FROM job
                WHERE sha256(target) = sha256(p_target) AND \(machine("queue", "place")) = \(machine("p_queue", "p_place"))
                    AND target = p_target AND url <> p_url AND state IN (0, 1, 5, 6) LIMIT 1;
            IF FOUND THEN RETURN; END IF;
            SELECT job.id, state, is_cancelled INTO id, v_state, v_is_cancelled FROM job
                WHERE sha256(target) = sha256(p_target) AND \(machine("queue", "place")) = \(machine("p_queue", "p_place"))
                    AND target = p_target AND url = p_url LIMIT 1;
            IF v_state IN (0, 1, 5, 6) THEN
                outcome := 1;
                IF v_is_cancelled THEN
                    -- The cancelled members have left. Enqueuing the job again revokes the cancellation.
                    DELETE FROM member WHERE queue = p_queue AND job = enqueue_one.id;
                    UPDATE job SET is_cancelled = false WHERE queue = p_queue AND job.id = enqueue_one.id;
                END IF;
                PERFORM join_jobs(p_queue, p_now, p_batch, ARRAY[id], ARRAY[p_user], ARRAY[p_priority]);
                RETURN;
            END IF;
            IF v_state = 2 AND p_keeps_finished THEN
                outcome := 2;
                PERFORM join_members(p_queue, p_batch, ARRAY[id], ARRAY[p_user], ARRAY[p_priority]);
                UPDATE job SET rank = least(rank, ~p_priority) WHERE queue = p_queue AND job.id = enqueue_one.id;
                PERFORM record(p_queue, p_now, id, 'joined', p_user, p_batch);
                RETURN;
            END IF;
            IF v_state IS NOT NULL THEN
                PERFORM record(p_queue, p_now, id, 'removed');
                PERFORM delete_jobs(p_queue, ARRAY[id]);
            END IF;
            outcome := 0;
            id := p_new;
            INSERT INTO job (queue, id, url, directory, name, target, host, place, is_unresolved, rank, created)
                VALUES (p_queue, p_new, p_url, p_directory, p_name, p_target, p_host, p_place, p_is_unresolved, ~p_priority, p_now);
            INSERT INTO member (queue, job, position, user_name, batch, priority)
                VALUES (p_queue, p_new, 0, p_user, p_batch, p_priority);
            PERFORM enter_lines(p_queue, ARRAY[p_new], ARRAY[~p_priority], ARRAY[p_host], ARRAY[p_user], ARRAY[p_place],
                ARRAY[p_is_unresolved]);
            PERFORM record(p_queue, p_now, p_new, 'added', p_user, p_batch);
        END $$
        """,
        // Adds requests, as if one after another. In a long list, requests with new targets are added together, and those that join a job
        // too. The events of both come first.
        """
        CREATE FUNCTION enqueue(
            p_queue int8, p_now int8, p_batch text, p_keeps_finished bool, p_urls text[], p_directories text[],
            p_names text[], p_targets bytea[], p_hosts text[], p_places text[], p_unresolved bool[], p_users text[],
            p_priorities int8[]
        ) RETURNS TABLE (id int8, outcome int8, other text) LANGUAGE plpgsql \(planning) AS $$
        #variable_conflict use_column
        DECLARE
            v_now int8 := moment(p_now);
            v_last int8 := (SELECT last_job FROM queue WHERE number = p_queue);
            v_count int4 := cardinality(p_urls);
            v_is_short bool := v_count < 16;
            v_kinds int8[];
            v_ids int8[];
            v_outcomes int8[];
            v_others text[] := array_fill(NULL::text, ARRAY[v_count]);
            v_request record;
            v_one record;
        BEGIN
            IF v_count = 0 THEN RETURN; END IF;
            -- The kinds are the outcomes 0 and 1 if no other request has the target, and there is no job with it, or only an unfinished one
            -- for the same URL. The others have the kind 2. Each but the joining ones has the number of a new job.
            SELECT array_agg(kind), array_agg(CASE kind WHEN 1 THEN job ELSE v_last + number END), v_last + max(number)
                INTO v_kinds, v_ids, v_last FROM (
                    SELECT *, count(*) FILTER (WHERE kind <> 1) OVER (ORDER BY position) AS number FROM (
                        SELECT position, found.job, CASE
                            WHEN v_is_short OR count(*) OVER (PARTITION BY place, target) > 1 THEN 2
                            WHEN found.number = 0 THEN 0 WHEN found.number = 1 AND found.is_open THEN 1 ELSE 2 END AS kind
                        FROM unnest(p_urls, p_targets, p_places) WITH ORDINALITY AS request (url, target, place, position)
                        CROSS JOIN LATERAL (
                            SELECT count(*) AS number, min(job.id) AS job,
                                bool_and(job.url = request.url AND state IN (0, 1, 5, 6) AND NOT is_cancelled) AS is_open
                            FROM job WHERE sha256(job.target) = sha256(request.target) AND job.target = request.target
                                AND \(machine("job.queue", "job.place")) = \(machine("p_queue", "request.place"))
                            ) AS found) AS request
                    ORDER BY position) AS request;
            v_outcomes := v_kinds;
            IF 0 = ANY (v_kinds) THEN
                WITH request AS MATERIALIZED (
                    SELECT * FROM unnest(v_kinds, v_ids, p_urls, p_directories, p_names, p_targets, p_hosts, p_places,
                        p_unresolved, p_users, p_priorities) AS request (kind, id, url, directory, name, target, host, place,
                        is_unresolved, user_name, priority) WHERE kind = 0),
                new_job AS (
                    INSERT INTO job (queue, id, url, directory, name, target, host, place, is_unresolved, rank, created)
                        SELECT p_queue, id, url, directory, name, target, host, place, is_unresolved, ~priority, v_now
                        FROM request),
                new_member AS (
                    INSERT INTO member (queue, job, position, user_name, batch, priority)
                        SELECT p_queue, id, 0, user_name, p_batch, priority FROM request)
                INSERT INTO event (queue, number, time, job, kind, user_name, batch)
                    SELECT p_queue, last.number + row_number() OVER (ORDER BY id), v_now, id, 'added', user_name, p_batch
                    FROM request, (SELECT coalesce(max(number), 0) AS number FROM event WHERE queue = p_queue) AS last;
                PERFORM enter_lines(p_queue, array_agg(id), array_agg(~priority), array_agg(host), array_agg(user_name),
                        array_agg(place), array_agg(is_unresolved))
                    FROM unnest(v_kinds, v_ids, p_priorities, p_hosts, p_users, p_places, p_unresolved)
                        AS request (kind, id, priority, host, user_name, place, is_unresolved) WHERE kind = 0;
            END IF;
            IF 1 = ANY (v_kinds) THEN
                PERFORM join_jobs(p_queue, v_now, p_batch, array_agg(id), array_agg(user_name), array_agg(priority))
                    FROM unnest(v_kinds, v_ids, p_users, p_priorities) AS request (kind, id, user_name, priority)
                    WHERE kind = 1;
            END IF;
            IF 2 = ANY (v_kinds) THEN
                IF v_is_short THEN v_last := v_last - v_count; END IF;
                FOR v_request IN
                    SELECT * FROM unnest(v_kinds, v_ids, p_urls, p_directories, p_names, p_targets, p_hosts, p_places,
                        p_unresolved, p_users, p_priorities) WITH ORDINALITY AS request (kind, id, url, directory, name, target,
                        host, place, is_unresolved, user_name, priority, position) WHERE kind = 2 ORDER BY position
                LOOP
                    v_one := enqueue_one(p_queue, v_now, p_batch, p_keeps_finished,
                        CASE WHEN v_is_short THEN v_last + 1 ELSE v_request.id END, v_request.url, v_request.directory,
                        v_request.name, v_request.target, v_request.host, v_request.place, v_request.is_unresolved,
                        v_request.user_name, v_request.priority);
                    IF v_is_short AND v_one.outcome = 0 THEN v_last := v_last + 1; END IF;
                    v_ids[v_request.position] := v_one.id;
                    v_outcomes[v_request.position] := v_one.outcome;
                    v_others[v_request.position] := v_one.other;
                END LOOP;
            END IF;
            UPDATE queue SET last_job = v_last WHERE number = p_queue;
            IF 0 = ANY (v_outcomes) OR 1 = ANY (v_outcomes) THEN PERFORM wake(p_queue); END IF;
            RETURN QUERY SELECT * FROM unnest(v_ids, v_outcomes, v_others);
        END $$
        """,
    ]
}
#endif
